// The paper's figures by the model (WrAP, sections 5.3 to 5.5): which traces,
// by which methods, how fast they arrive.
#ifndef KAMINO_LAB_CONTROLLER_FIGURES_H_
#define KAMINO_LAB_CONTROLLER_FIGURES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/transactional_store.h"
#include "lab/controller/figure.h"
#include "lab/controller/machine.h"
#include "lab/controller/trace.h"

namespace kamino::bench::controller {

struct Setting {
  bool quick = false;  // fewer pieces of work and points, smaller graphs
  Machine machine;     // its SCM is as slow as a figure says
  // A new, empty store for so many bytes of objects, to be recorded.
  std::function<absl::StatusOr<std::unique_ptr<engine::TransactionalStore>>(
      uint64_t bytes)>
      open_store;
  // Keeps a recorded trace; may be empty.
  std::function<absl::Status(const std::string& name, const Trace& trace)>
      keep_trace;
};

// Response and completion by the number of stores.
absl::StatusOr<Figure> Figure5(const Setting& setting);
// Counts of 100 wraps of 20 stores, and their rate by SCM's speed, in a burst.
absl::StatusOr<Figure> Figure7(const Setting& setting);
// Response by the rate of arrivals.
absl::StatusOr<Figure> Figure9(const Setting& setting);
// Groups of stores of which a part is transactional.
absl::StatusOr<Figure> Figure10(const Setting& setting);
// Throughput by threads.
absl::StatusOr<Figure> Figure11(const Setting& setting);
// Graph 500.
absl::StatusOr<Figure> Figure12(const Setting& setting);
// Inserts into a B+tree, and into other containers.
absl::StatusOr<Figure> Figure13(const Setting& setting);
// Both rules and both victim caches of section 4, where caches are tiny.
absl::StatusOr<Figure> FormsFigure(const Setting& setting);

struct NamedFigure {
  const char* name;
  absl::StatusOr<Figure> (*make)(const Setting& setting);
};
inline constexpr NamedFigure kFigures[] = {
    {"5", Figure5},   {"7", Figure7},        {"9", Figure9},
    {"10", Figure10}, {"11", Figure11},      {"12", Figure12},
    {"13", Figure13}, {"forms", FormsFigure}};

// A trace by every method, at each of SCM's speeds.
absl::StatusOr<Figure> TraceFigure(const std::string& name, const Trace& trace,
                                   const Setting& setting);

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_FIGURES_H_
