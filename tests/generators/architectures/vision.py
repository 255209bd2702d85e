"""Architectures for images: residual, dense, squeezed, inverted, separable, upsampling networks."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def _layers(inputs: int, outputs: int, stride: int, activation: type[nn.Module]) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), activation()
    )


class ResNet(nn.Module):
    """Blocks whose input is added to their output."""

    class Block(nn.Module):
        def __init__(self, width: int, activation: type[nn.Module]) -> None:
            super().__init__()
            self.first = _layers(width, width, 1, activation)
            self.second = nn.Sequential(
                nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
            )
            self.activation = activation()

        def forward(self, x: Tensor) -> Tensor:
            return self.activation(x + self.second(self.first(x)))

    def __init__(self, width: int, depth: int, activation: type[nn.Module]) -> None:
        super().__init__()
        self.stem = nn.Sequential(_layers(3, width, 2, activation), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(*(self.Block(width, activation) for _ in range(depth)))
        self.head = nn.Linear(width, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class DenseNet(nn.Module):
    """Layers that read the outputs of all layers before them."""

    def __init__(self, growth: int, depth: int, pool: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            _layers(3 + i * growth, growth, 1, nn.ReLU) for i in range(depth)
        )
        self.pool = pool
        self.head = nn.LazyLinear(4)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return torch.log_softmax(self.head(self.pool(x).flatten(1)), 1)


class SqueezeNet(nn.Module):
    """Layers that squeeze, then expand in two ways at once."""

    class Fire(nn.Module):
        def __init__(self, inputs: int, squeezed: int, outputs: int) -> None:
            super().__init__()
            self.squeeze = nn.Conv2d(inputs, squeezed, 1)
            self.narrow = nn.Conv2d(squeezed, outputs, 1)
            self.wide = nn.Conv2d(squeezed, outputs, 3, padding=1)

        def forward(self, x: Tensor) -> Tensor:
            x = self.squeeze(x).relu()
            return torch.cat([self.narrow(x).relu(), self.wide(x).relu()], 1)

    def __init__(self, width: int, ceil_mode: bool, dropout: float) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, 2), nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, ceil_mode=ceil_mode), self.Fire(width, 4, width),
        )  # fmt: skip
        self.head = nn.Sequential(
            nn.Dropout(dropout), nn.Conv2d(2 * width, 5, 1), nn.AdaptiveAvgPool2d(1)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x)).flatten(1)


class MobileNetV3(nn.Module):
    """Inverted residuals with gates for each channel."""

    def __init__(self, width: int, hard: bool, gated: bool) -> None:
        super().__init__()
        activation: type[nn.Module] = nn.Hardswish if hard else nn.SiLU
        self.expand = nn.Sequential(nn.Conv2d(3, width, 1), activation())
        self.depthwise = nn.Sequential(nn.Conv2d(width, width, 3, 1, 1, groups=width), activation())
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, 4, 1), nn.ReLU(), nn.Conv2d(4, width, 1),
            nn.Hardsigmoid() if hard else nn.Sigmoid(),
        ) if gated else None  # fmt: skip
        self.project = nn.Conv2d(width, 3, 1)
        self.head = nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.depthwise(self.expand(x))
        if self.gate is not None:
            y = y * self.gate(y)
        return self.head((x + self.project(y)).mean((2, 3)))


class ShuffleNet(nn.Module):
    """Convolutions in groups, and channels that change their group."""

    def __init__(self, groups: int, rounds: int, split: bool) -> None:
        super().__init__()
        self.groups, self.split = groups, split
        width = 4 * groups
        self.stem = nn.Conv2d(3, width, 3, 2, 1)
        half = width // 2 if split else width
        self.rounds = nn.ModuleList(
            nn.Conv2d(half, half, 1, groups=1 if split else groups) for _ in range(rounds)
        )

    def _shuffled(self, x: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        x = x.view(batch, self.groups, channels // self.groups, height, width)
        return x.transpose(1, 2).reshape(batch, channels, height, width)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for layer in self.rounds:
            if self.split:
                kept, changed = x.chunk(2, 1)
                x = torch.cat([kept, layer(changed).relu()], 1)
            else:
                x = layer(x).relu()
            x = self._shuffled(x)
        return x.amax((2, 3))


class UNet(nn.Module):
    """Downsampling and upsampling layers, with a connection that skips the smallest size."""

    def __init__(self, width: int, way_up: str) -> None:
        super().__init__()
        self.down = _layers(1, width, 1, nn.LeakyReLU)
        self.bottom = _layers(width, width, 2, nn.LeakyReLU)
        self.way_up = way_up
        self.up = nn.ConvTranspose2d(width, width, 2, 2) if way_up == "convolution" else None
        self.out = nn.Conv2d(2 * width, 1, 1)

    def _raised(self, x: Tensor) -> Tensor:
        if self.up is not None:
            return self.up(x)
        if self.way_up == "nearest":
            return nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
        batch, channels, height, width = x.shape  # each element becomes four elements
        x = x.unsqueeze(3).unsqueeze(5).expand(batch, channels, height, 2, width, 2)
        return x.flatten(1).view(batch, channels, 2 * height, 2 * width)

    def forward(self, x: Tensor) -> Tensor:
        kept = self.down(x)
        return self.out(torch.cat([kept, self._raised(self.bottom(kept))], 1)).sigmoid()
