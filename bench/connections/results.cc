#include "bench/connections/results.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kamino::bench::connections {
namespace {

// Names, and values as JSON.
using Fields = std::vector<std::pair<std::string, std::string>>;

void Add(const std::string& name, double value, Fields* fields) {
  fields->emplace_back(name, Number(value));
}

void AddSpeed(const std::string& when, const Speed& speed, Fields* fields) {
  Add(absl::StrCat("puts_per_s_", when), speed.puts, fields);
  Add(absl::StrCat("gets_per_s_", when), speed.gets, fields);
  Add(absl::StrCat("put_us_", when), speed.put_micros, fields);
  Add(absl::StrCat("get_us_", when), speed.get_micros, fields);
}

// Adds memory of the kernel, of the heap, and of each process by its role.
void AddMemory(const std::string& when, const MeasureOptions& options,
               const Snapshot& memory, Fields* fields) {
  Add(absl::StrCat("kernel_bytes_", when), static_cast<double>(memory.kernel),
      fields);
  Add(absl::StrCat("heap_bytes_", when), static_cast<double>(memory.heap),
      fields);
  for (size_t i = 0; i < memory.processes.size(); ++i) {
    const std::string& role = options.processes[i].role;
    Add(absl::StrCat(role, "_own_bytes_", when),
        static_cast<double>(memory.processes[i].own), fields);
    Add(absl::StrCat(role, "_shared_bytes_", when),
        static_cast<double>(memory.processes[i].shared), fields);
    Add(absl::StrCat(role, "_idle_processor_", when), memory.idle_processor[i],
        fields);
  }
}

std::string TextOrNull(const absl::Status& status) {
  return status.ok() ? "null" : Quote(status.message());
}

Fields FieldsOf(const MeasureOptions& options, const Round& round) {
  Fields fields;
  Add("opened", static_cast<double>(round.opened), &fields);
  fields.emplace_back("refused", TextOrNull(round.refused));
  Add("opening_s", absl::ToDoubleSeconds(round.opening), &fields);
  Add("closing_s", absl::ToDoubleSeconds(round.closing), &fields);
  Add("lost", static_cast<double>(round.lost), &fields);
  fields.emplace_back("newcomer_ms",
                      round.newcomer.ok()
                          ? Number(absl::ToDoubleMilliseconds(*round.newcomer))
                          : "null");
  fields.emplace_back("newcomer_error", TextOrNull(round.newcomer.status()));
  AddSpeed("before", round.speed_before, &fields);
  AddSpeed("with", round.speed_with, &fields);
  AddSpeed("after", round.speed_after, &fields);
  AddMemory("before", options, round.before, &fields);
  AddMemory("with", options, round.with, &fields);
  AddMemory("after", options, round.after, &fields);
  return fields;
}

}  // namespace

std::string ToJson(const Facts& facts, const MeasureOptions& options,
                   const std::vector<Round>& rounds) {
  std::vector<std::string> all;
  for (const Round& round : rounds) {
    all.push_back(
        absl::StrCat("{",
                     absl::StrJoin(FieldsOf(options, round), ",\n ",
                                   [](std::string* out, const auto& field) {
                                     absl::StrAppend(out, Quote(field.first),
                                                     ": ", field.second);
                                   }),
                     "}"));
  }
  return absl::StrCat(OpenResults("connections_rounds", facts),
                      ",\n\"rounds\": [\n", absl::StrJoin(all, ",\n"), "]}\n");
}

std::string ToText(const MeasureOptions& options,
                   const std::vector<Round>& rounds) {
  std::string text;
  for (size_t i = 0; i < rounds.size(); ++i) {
    absl::StrAppend(&text, "\nround ", i + 1, "\n");
    for (const auto& [name, value] : FieldsOf(options, rounds[i])) {
      absl::StrAppend(&text, "  ", name, ": ", value, "\n");
    }
  }
  return text;
}

}  // namespace kamino::bench::connections
