#include "engine/fault.h"

#include <string>

namespace kamino::engine {
namespace {

std::string& Planted() {
  static auto* const planted = new std::string;
  return *planted;
}

}  // namespace

bool FaultPlanted(absl::string_view name) { return Planted() == name; }

void PlantFault(absl::string_view name) { Planted() = std::string(name); }

}  // namespace kamino::engine
