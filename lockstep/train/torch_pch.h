// SPDX-License-Identifier: Apache-2.0
// Compiled once for the train half and its tests; never included by hand.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>
