"""Export thirty models of ten architectures, with inputs and PyTorch's outputs.

    python -m tests.generators.architecture_models FOLDER [--list]

Run it with a Python that has torch 2.13. Weights are random, so the models are not committed: the
soak script model_sizes makes them again. --list prints the models without an export.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy
import torch
from torch import Tensor, nn
from torch.export import Dim, export, save

from tests.generators.architectures.sequences import (
    Recommender,
    Recurrent,
    Transformer,
    VisionTransformer,
)
from tests.generators.architectures.vision import (
    DenseNet,
    MobileNetV3,
    ResNet,
    ShuffleNet,
    SqueezeNet,
    UNet,
)

Inputs = tuple[Tensor, ...]


def image(channels: int = 3, size: int = 16, batch: int = 1) -> Callable[[], Inputs]:
    return lambda: (torch.randn(batch, channels, size, size),)


def tokens(length: int = 7) -> Callable[[], Inputs]:
    return lambda: (torch.randint(0, 20, (2, length)),)


def steps(length: int = 5) -> Callable[[], Inputs]:
    return lambda: (torch.randn(2, length, 4),)


def features(categories: int) -> Callable[[], Inputs]:
    return lambda: (torch.randn(3, 3), torch.randint(0, 10, (3, categories)))


BATCH = ({0: Dim("batch", min=2, max=8)},)

# name → (model, inputs, dynamic sizes, whether it is decomposed to core operators)
MODELS: dict[
    str, tuple[Callable[[], nn.Module], Callable[[], Inputs], tuple[object, ...] | None, bool]
] = {
    "resnet_relu": (lambda: ResNet(8, 2, nn.ReLU), image(), None, False),
    "resnet_batch": (lambda: ResNet(4, 3, nn.ReLU), image(batch=2), BATCH, False),
    "resnet_leaky_core": (lambda: ResNet(4, 1, nn.LeakyReLU), image(), None, True),
    "densenet_average": (lambda: DenseNet(4, 3, nn.AvgPool2d(4)), image(), None, False),
    "densenet_maximum": (lambda: DenseNet(2, 2, nn.MaxPool2d(2)), image(size=8), None, False),
    "densenet_adaptive_core": (
        lambda: DenseNet(3, 2, nn.AdaptiveAvgPool2d(2)), image(), None, True,
    ),
    "squeezenet_plain": (lambda: SqueezeNet(8, False, 0.5), image(size=20), None, False),
    "squeezenet_ceil": (lambda: SqueezeNet(6, True, 0.0), image(size=20), None, False),
    "squeezenet_core": (lambda: SqueezeNet(6, False, 0.1), image(size=20), None, True),
    "mobilenet_v3_hard": (lambda: MobileNetV3(8, True, True), image(), None, False),
    "mobilenet_v3_silu": (lambda: MobileNetV3(6, False, True), image(), None, False),
    "mobilenet_v3_core": (lambda: MobileNetV3(6, True, False), image(), None, True),
    "shufflenet_groups": (lambda: ShuffleNet(2, 2, False), image(), None, False),
    "shufflenet_split": (lambda: ShuffleNet(3, 2, True), image(), None, False),
    "shufflenet_core": (lambda: ShuffleNet(2, 1, True), image(), None, True),
    "unet_expand": (lambda: UNet(4, "expand"), image(1), None, False),
    "unet_convolution": (lambda: UNet(4, "convolution"), image(1), None, True),
    "unet_nearest": (lambda: UNet(4, "nearest"), image(1), None, False),
    "transformer_encoder": (lambda: Transformer(8, 2, False, torch.float32), tokens(), None, False),
    "transformer_causal": (lambda: Transformer(8, 4, True, torch.float32), tokens(9), None, False),
    "transformer_half": (lambda: Transformer(8, 2, False, torch.float16), tokens(), None, False),
    "vision_transformer_first": (
        lambda: VisionTransformer(8, "layer", "first"), image(), None, False,
    ),
    "vision_transformer_root": (
        lambda: VisionTransformer(8, "root", "mean"), image(batch=2), BATCH, False,
    ),
    "vision_transformer_core": (lambda: VisionTransformer(6, "layer", "mean"), image(), None, True),
    "recurrent_lstm": (lambda: Recurrent("lstm", 2, False), steps(), None, False),
    "recurrent_lstm_both_ways": (lambda: Recurrent("lstm", 1, True), steps(), None, False),
    "recurrent_gru": (lambda: Recurrent("gru", 1, False), steps(), None, False),
    "recommender_products": (lambda: Recommender(2, True, False), features(2), None, False),
    "recommender_flat": (lambda: Recommender(3, False, False), features(3), None, True),
    "recommender_bags": (lambda: Recommender(2, False, True), features(2), None, False),
}  # fmt: skip


def write(folder: Path, name: str) -> None:
    """Write model.pt2 with two cases: case0_input0.npy, case0_expected0.npy, …"""
    make, inputs, dynamic, is_core = MODELS[name]
    torch.manual_seed(sorted(MODELS).index(name))
    model, cases = make(), [inputs(), inputs()]
    model.eval()
    with torch.no_grad():
        model(*cases[0])
        exported = export(model, cases[0], dynamic_shapes=dynamic)
        if is_core:
            exported = exported.run_decompositions()
        (folder / name).mkdir(parents=True, exist_ok=True)
        save(exported, folder / name / "model.pt2")
        for number, given in enumerate(cases):
            for i, array in enumerate(given):
                numpy.save(folder / name / f"case{number}_input{i}.npy", array.numpy())
            expected = model(*given).contiguous().numpy()
            numpy.save(folder / name / f"case{number}_expected0.npy", expected)


def main(arguments: list[str]) -> None:
    if "--list" in arguments:
        print("\n".join(MODELS))
        return
    for name in MODELS:
        write(Path(arguments[0]), name)
        print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
