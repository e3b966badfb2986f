"""Resources and facts read from AMD assembly."""

from compiler.back.amdgcn import parameter_sizes_bytes, resources

TEXT = """	s_endpgm
; NumVgprs: 3
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     16
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .offset:         8
        .size:           4
        .value_kind:     by_value
    .group_segment_fixed_size: 128
    .kernarg_segment_size: 16
    .name:           kernel
    .private_segment_fixed_size: 24
    .sgpr_count:     20
    .sgpr_spill_count: 1
    .vgpr_count:     128
    .vgpr_spill_count: 6
    .wavefront_size: 64
...
	.end_amdgpu_metadata
"""


def test_resources_come_from_the_metadata():
    assert resources(TEXT) == {
        "registers": 128,
        "vgpr": 128,
        "agpr": 16,
        "sgpr": 20,
        "vgpr_spills": 6,
        "sgpr_spills": 1,
        "spill_store_bytes": 24,
        "spill_load_bytes": 24,
        "stack_bytes": 24,
        "static_shared_bytes": 128,
    }


def test_parameters_are_listed_in_order():
    assert parameter_sizes_bytes(TEXT) == [8, 4]


def test_a_text_without_metadata_says_nothing():
    assert resources("s_endpgm")["registers"] == 0
    assert parameter_sizes_bytes("s_endpgm") == []
