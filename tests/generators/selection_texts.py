"""Selection files for torchgen: accepted, refused and senseless ones, and random ones."""

from __future__ import annotations

import random

DTYPES = ("Byte", "Int", "Long", "Float", "Double", "Bool", "6", "float")

# Names of the operators in random files.
_NAMES = (
    "aten::add", "aten::add.Tensor", "aten::add.out", "aten::mul", "aten::mul.Scalar", "my::op",
    "my::op.x", "prim::If",
)  # fmt: skip
_FLAGS = ("is_root_operator", "is_used_for_training", "include_all_overloads")
_KERNEL_KEYS = ("default", "'v1/6;0,1|6;0,1'", "'v1/3;0|3;0'", "v1/7;0", "v1")

ACCEPTED = {
    "nothing": "{}\n",
    "all_operators": "include_all_operators: true\n",
    "all_operators_but_named": (
        "include_all_operators: Yes\noperators:\n  aten::add: {is_root_operator: No,"
        " include_all_overloads: No}\n"
    ),
    "all_non_operators": "include_all_non_op_selectives: true\nkernel_metadata:\n  add: [Float]\n",
    "entry_without_keys": "operators:\n  aten::add: {}\n  aten::mul.Scalar: {}\n",
    "root_left_out": (
        "operators:\n  aten::add: {is_used_for_training: false, include_all_overloads: false}\n"
    ),
    "training_left_out": (
        "operators:\n  aten::add: {is_root_operator: false, include_all_overloads: false}\n"
    ),
    "overloads_left_out": (
        "operators:\n  aten::add: {is_root_operator: false, is_used_for_training: false}\n"
    ),
    "family": (
        "operators:\n  aten::add: {is_root_operator: true, is_used_for_training: false,"
        " include_all_overloads: true}\n"
    ),
    "family_alone": (
        "operators:\n  aten::add: {is_root_operator: true, is_used_for_training: true,"
        " include_all_overloads: false}\n"
    ),
    "inert_flag": "operators:\n  aten::add.Tensor: {include_all_overloads: true}\n",
    "shadowed_root": (
        "operators:\n  aten::add: {is_root_operator: true, is_used_for_training: false,"
        " include_all_overloads: true}\n  aten::add.Tensor: {is_root_operator: false,"
        " is_used_for_training: false, include_all_overloads: false}\n"
    ),
    "shadowed_training": (
        "operators:\n  aten::add: {is_root_operator: false, is_used_for_training: true,"
        " include_all_overloads: true}\n  aten::add.Tensor: {is_root_operator: true,"
        " is_used_for_training: false, include_all_overloads: false}\n"
    ),
    "two_dots": "operators:\n  aten::add.Tensor.out: {is_used_for_training: false}\n",
    "no_namespace": (
        "operators:\n  add: {include_all_overloads: true}\n  'aten':\n    include_all_overloads:"
        " false\n"
    ),
    "name_stated": (
        "operators:\n  aten::add.out:\n    name: aten::add.out\n    is_root_operator: False\n"
    ),
    "empty_name": "operators:\n  '': {is_root_operator: false}\n",
    "dtypes": "kernel_metadata:\n  add: [Float, Int, Float]\n  cumsum: []\n  mul: [6, Half]\n",
    "kernel_keys": (
        "operators:\n  aten::add.out: {include_all_overloads: false}\n  aten::mul.out:"
        " {include_all_overloads: false}\net_kernel_metadata:\n  aten::add.out:"
        " ['v1/6;0,1|6;0,1']\n  aten::sub.out: ['v2/3;0|3;0', v1/7;0]\n"
    ),
    "default_kernel": "et_kernel_metadata:\n  aten::add.out: [default]\n  aten::mul.out: []\n",
    "all_operators_with_keys": (
        "include_all_operators: true\net_kernel_metadata:\n  aten::add.out: ['v1/6;0,1|6;0,1']\n"
    ),
    "classes_and_features": (
        "custom_classes: [LinearOpContext, Conv2dOpContext]\nbuild_features:\n- bundled_inputs\n"
    ),
    "debug_info": (
        "debug_info: [model@1, 'a: b', 3, true, 1.50, 2020-01-01, ~]\noperators:\n  aten::add:"
        " {debug_info: [m, m, '']}\n"
    ),
    "mobile_tracer": (
        "include_all_non_op_selectives: false\ninclude_all_operators: false\nbuild_features:"
        " []\ncustom_classes:\n  - LinearOpContext\noperators:\n  aten::add.Tensor:\n   "
        " is_used_for_training: false\n    is_root_operator: true\n    include_all_overloads:"
        " false\n  aten::resize_:\n    is_used_for_training: false\n    is_root_operator: false\n  "
        "  include_all_overloads: false\nkernel_metadata:\n  add_stub:\n    - Float\n    - Int\n "
        " __unused__:\n    - Float\n"
    ),
    "unified_model": (
        'debug_info: [\'{"asset_info": {"a": {"md5_hash": ["1"]}}, "is_new_style_rule":'
        " true}']\noperators:\n  aten::conv2d: {include_all_overloads: Yes, is_root_operator: Yes,"
        " is_used_for_training: No, debug_info: [kws]}\ninclude_all_non_op_selectives: Yes\n"
    ),
    "our_tracer": (
        'build_features:\n- bundled_inputs\ncustom_classes: []\ndebug_info:\n- "a b.sgp"\n-'
        ' "b.sgp"\net_kernel_metadata: {}\ninclude_all_non_op_selectives:'
        " false\ninclude_all_operators: false\nkernel_metadata:\n  cumsum:\n  - Float\n  -"
        ' Long\noperators:\n  aten::cumsum:\n    debug_info:\n    - "a b.sgp"\n    - "b.sgp"\n   '
        " include_all_overloads: false\n    is_root_operator: true\n    is_used_for_training:"
        " false\n"
    ),
    "our_records": (
        'kernel_metadata: {cumsum: [Float]}\ndebug_info: [\'{"kernel_metadata": {"cumsum":'
        ' ["Float"]}, "model": "a.sgp"}\', \'by hand\']\n'
    ),
    "anchors": (
        "operators:\n  aten::add.out: &entry\n    include_all_overloads: false\n    debug_info: &by"
        " [model]\n  aten::mul.out: *entry\n  aten::sub.out: {debug_info: *by}\n"
    ),
    "yaml_words": (
        "{include_all_operators: off, 'operators': {\"aten::add.\\x54ensor\": {is_root_operator:"
        " on}}, # a comment\n custom_classes: ['yes', \"null\", '1'], kernel_metadata: {'on':"
        " [Float]}}\n"
    ),
    "explicit_tags": "!!map\ncustom_classes: !!seq [!!str yes]\ninclude_all_operators: !!bool no\n",
    "given_twice": (
        "operators:\n  aten::add: {include_all_overloads: true}\n  aten::add:"
        " {include_all_overloads: false}\n"
    ),
    "no_ascii": 'custom_classes: [Größe, "\\U0001F600", "a\\nb", "it\'s"]\n',
}

REFUSED = {
    "unknown_key": "operators: {}\nkernels: {}\n",
    "unknown_operator_key": "operators:\n  aten::add: {is_root: true}\n",
    "other_name": "operators:\n  aten::add: {name: aten::mul}\n",
    "all_operators_word": "include_all_operators: 'true'\n",
    "all_operators_number": "include_all_operators: 1\n",
    "all_operators_null": "include_all_operators:\n",
    "all_non_operators_word": "include_all_non_op_selectives: maybe\n",
    "root_null": "operators:\n  aten::add: {is_root_operator: }\n",
    "training_number": "operators:\n  aten::add: {is_used_for_training: 0}\n",
    "overloads_list": "operators:\n  aten::add: {include_all_overloads: [true]}\n",
    "operators_null": "operators:\n",
    "operators_list": "operators: [aten::add]\n",
    "operators_empty_list": "operators: []\n",
    "operator_null": "operators:\n  aten::add:\n",
    "operator_word": "operators:\n  aten::add: root\n",
    "operator_list": "operators:\n  aten::add: []\n",
    "operator_debug_info_word": "operators:\n  aten::add: {debug_info: model}\n",
    "operator_debug_info_null": "operators:\n  aten::add: {debug_info: }\n",
    "kernel_metadata_null": "kernel_metadata:\n",
    "kernel_metadata_empty_list": "kernel_metadata: []\n",
    "kernel_metadata_list": "kernel_metadata: [add]\n",
    "kernel_metadata_word": "kernel_metadata: add\n",
    "tag_null": "kernel_metadata:\n  add:\n",
    "tag_number": "kernel_metadata:\n  add: 6\n",
    "kernel_keys_null": "et_kernel_metadata:\n",
    "kernel_keys_list": "et_kernel_metadata: []\n",
    "classes_null": "custom_classes:\n",
    "classes_number": "custom_classes: 3\n",
    "classes_of_lists": "custom_classes: [[a]]\n",
    "features_null": "build_features:\n",
    "features_flag": "build_features: true\n",
    "debug_info_null": "debug_info:\n",
    "debug_info_word": "debug_info: model\n",
    "debug_info_table": "debug_info: {model: 1}\n",
    "a_list": "- operators\n",
    "a_word": "operators\n",
    "no_content": "",
    "only_comments": "# nothing\n",
    "two_documents": "operators: {}\n---\noperators: {}\n",
    "no_yaml": "operators: {aten::add: {\n",
    "tabs": "operators:\n\taten::add: {}\n",
    "binary": "operators: \x00\n",
    "unknown_alias": "operators: *nothing\n",
    "anchor_twice": "custom_classes: [&a x, &a y]\n",
    "code": "operators: !!python/object/apply:os.system ['true']\n",
    "unknown_tag": "operators: !mine {}\n",
    "no_boolean": "include_all_operators: !!bool maybe\n",
    "list_as_key": "operators:\n  ? [a]\n  : {}\n",
}

# torchgen accepts these with a useless meaning, or fails on them later. The tests require that
# we refuse them.
NONSENSE = {
    "dtypes_word": "kernel_metadata:\n  add: Float\n",
    "dtypes_table": "kernel_metadata:\n  add: {Float: 1}\n",
    "classes_word": "custom_classes: LinearOpContext\n",
    "features_table": "build_features: {bundled_inputs: 1}\n",
    "number_as_operator": "operators:\n  7: {}\n",
    "flag_as_tag": "kernel_metadata:\n  on: [Float]\n",
    "keys_null": "et_kernel_metadata:\n  aten::add.out:\n",
    "debug_info_of_lists": "debug_info: [[a]]\n",
    "merge_key": "operators:\n  aten::add: &a {}\n  aten::mul: {<<: *a}\n",
    "itself": "custom_classes: []\ndebug_info: &a [*a]\n",
}


def random_selection(source: random.Random) -> str:
    """Return a file like one written by hand: some of the keys and flags, in any order.

    The recorded files depend on the order of the draws.
    """
    parts = []
    for key in ("include_all_operators", "include_all_non_op_selectives"):
        if source.random() < 0.3:
            parts.append(f"{key}: {source.choice(('true', 'false', 'false', 'false'))}\n")
    if source.random() < 0.9:
        names = source.sample(_NAMES, source.randint(1, 6))
        parts.append("operators:\n" + "".join(_random_operator(source, name) for name in names))
    if source.random() < 0.7:
        parts.append("kernel_metadata:\n" + _random_dtypes(source))
    if source.random() < 0.4:
        parts.append("et_kernel_metadata:\n" + _random_kernels(source))
    for key, words in (
        ("custom_classes", ("A", "B")),
        ("build_features", ("x", "y")),
        ("debug_info", ("kws@1", "vad@2")),
    ):
        if source.random() < 0.4:
            parts.append(f"{key}: [{', '.join(source.sample(words, source.randint(0, 2)))}]\n")
    source.shuffle(parts)
    return "".join(parts) or "{}\n"


def _random_operator(source: random.Random, name: str) -> str:
    flags = [
        f"{flag}: {source.choice(('true', 'false'))}" for flag in _FLAGS if source.random() < 0.7
    ]
    if source.random() < 0.5:
        models = source.choices(("kws", "vad", "asr"), k=source.randint(0, 3))
        flags.append(f"debug_info: [{', '.join(models)}]")
    return f"  {name}: {{{', '.join(flags)}}}\n"


def _random_dtypes(source: random.Random) -> str:
    tags = source.sample(("add", "mul", "cumsum"), source.randint(1, 3))
    return "".join(
        f"  {tag}: [{', '.join(source.choices(DTYPES[:6], k=source.randint(0, 4)))}]\n"
        for tag in tags
    )


def _random_kernels(source: random.Random) -> str:
    return "".join(
        f"  {name}: [{', '.join(source.sample(_KERNEL_KEYS, source.randint(1, 3)))}]\n"
        for name in source.sample(_NAMES, source.randint(1, 3))
    )
