// The test framework behind one include, so that a newer Catch touches this file only.
#pragma once
#include <catch2/catch.hpp>
