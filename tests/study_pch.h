// SPDX-License-Identifier: Apache-2.0
// Compiled once for the study half's tests; never included by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/core/study_pch.h"
