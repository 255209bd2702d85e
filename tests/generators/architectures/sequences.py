"""Architectures for sequences and features: transformers, recurrent networks, embeddings."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Transformer(nn.Module):
    """An encoder of token sequences with attention, optionally causal."""

    def __init__(self, width: int, heads: int, causal: bool, dtype: torch.dtype) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.tokens = nn.Embedding(20, width, dtype=dtype)
        self.places = nn.Parameter(torch.randn(12, width, dtype=dtype))
        self.parts = nn.Linear(width, 3 * width, dtype=dtype)
        self.together = nn.Linear(width, width, dtype=dtype)
        self.before = nn.LayerNorm(width, dtype=dtype)
        self.after = nn.LayerNorm(width, dtype=dtype)
        self.wide = nn.Linear(width, 2 * width, dtype=dtype)
        self.narrow = nn.Linear(2 * width, width, dtype=dtype)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.places[: ids.shape[1]]
        batch, length, width = x.shape
        parts = self.parts(self.before(x)).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        seen = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        x = x + self.together(seen.transpose(1, 2).reshape(batch, length, width))
        x = x + self.narrow(nn.functional.gelu(self.wide(self.after(x))))
        return torch.softmax(x @ self.tokens.weight.t(), -1)


class VisionTransformer(nn.Module):
    """Attention over the patches of an image, written out in basic operators."""

    def __init__(self, width: int, norm: str, pool: str) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.scale = nn.Parameter(torch.ones(width))
        self.norm, self.pool = norm, pool
        self.layer_norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 3)

    def _normed(self, x: Tensor) -> Tensor:
        if self.norm == "root":
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale
        return self.layer_norm(x)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1)
        y = self._normed(x)
        weights = (self.query(y) @ self.key(y).transpose(1, 2)) * 0.25
        x = x + torch.softmax(weights, -1) @ self.value(y)
        return self.head(x[:, 0] if self.pool == "first" else x.mean(1))


class Recurrent(nn.Module):
    """A recurrent network with a score for each step of a sequence of features."""

    def __init__(self, kind: str, layers: int, both_ways: bool) -> None:
        super().__init__()
        cell = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[kind]
        self.cell = cell(4, 6, layers, batch_first=True, bidirectional=both_ways)
        self.head = nn.Linear(12 if both_ways else 6, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.cell(x)[0])


class Recommender(nn.Module):
    """A score from embedded categories and numbers, or from the products of their embeddings."""

    def __init__(self, categories: int, products: bool, bags: bool) -> None:
        super().__init__()
        make = nn.EmbeddingBag if bags else nn.Embedding
        self.tables = nn.ModuleList(make(10, 4) for _ in range(categories))
        self.numbers = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.products, self.bags = products, bags
        count = categories + 1
        self.head = nn.Linear(count * count if products else 4 * count, 1)

    def forward(self, numbers: Tensor, ids: Tensor) -> Tensor:
        found = [self.numbers(numbers)]
        for i, table in enumerate(self.tables):
            found.append(table(ids[:, i : i + 1]) if self.bags else table(ids[:, i]))
        x = torch.stack(found, 1)
        x = torch.bmm(x, x.transpose(1, 2)).flatten(1) if self.products else x.flatten(1)
        return self.head(x).tanh()
