#include "bench/service/results.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/harness/statistics.h"

namespace kamino::bench::service {
namespace {

template <typename Field>
std::vector<double> All(const Row& row, Field field) {
  std::vector<double> values;
  for (const Turn& turn : row.turns) values.push_back(field(turn));
  return values;
}

const char* NameOf(Mode mode) {
  switch (mode) {
    case Mode::kClosed:
      return "closed";
    case Mode::kOpen:
      return "open";
    case Mode::kEndurance:
      return "endurance";
  }
  return "";
}

bool SameCell(const Cell& a, const Cell& b) {
  return a.mode == b.mode && a.workload == b.workload &&
         a.value_size == b.value_size && a.outstanding == b.outstanding &&
         a.load == b.load && a.rate == b.rate;
}

std::string Micros(double nanos) { return Number(nanos / 1000); }

// An object on one line.
class Fields {
 public:
  void Text(absl::string_view name, absl::string_view value) {
    Add(name, Quote(value));
  }
  void Add(absl::string_view name, absl::string_view json) {
    fields_.push_back(absl::StrCat(Quote(name), ": ", json));
  }
  std::string ToJson() const {
    return absl::StrCat("{", absl::StrJoin(fields_, ", "), "}");
  }

 private:
  std::vector<std::string> fields_;
};

void AddCell(const Cell& cell, const Medians& medians, Fields* fields) {
  fields->Text("mode", NameOf(cell.mode));
  fields->Text("workload", cell.workload);
  fields->Add("value_size", absl::StrCat(cell.value_size));
  fields->Add("objects", absl::StrCat(cell.objects));
  const bool closed = cell.mode == Mode::kClosed;
  fields->Add("outstanding", closed ? absl::StrCat(cell.outstanding) : "null");
  fields->Add("load_percent",
              closed || cell.load == 0 ? "null" : absl::StrCat(cell.load));
  fields->Add("offered_per_s", closed ? "null" : Number(medians.offered));
}

std::string RatiosJson(const Row& row, const std::vector<Row>& rows) {
  Fields all;
  for (const std::string& subject : SubjectsOf(rows)) {
    if (subject == row.subject) continue;
    const auto ratios = RatiosTo(row, subject, rows);
    if (!ratios.has_value()) continue;
    Fields one;
    one.Add("ops_per_s", Number(ratios->per_second));
    one.Add("p50", Number(ratios->p50));
    one.Add("p99", Number(ratios->p99));
    all.Add(subject, one.ToJson());
  }
  return all.ToJson();
}

std::string RowJson(const Row& row, const std::vector<Row>& rows) {
  const Medians medians = MediansOf(row);
  Fields fields;
  AddCell(row.cell, medians, &fields);
  fields.Text("subject", row.subject);
  fields.Add("ops_per_s", Number(medians.per_second));
  fields.Add("p50_us", Micros(medians.p50));
  fields.Add("p99_us", Micros(medians.p99));
  fields.Add("p999_us", Micros(medians.p999));
  fields.Add("p9999_us", Micros(medians.p9999));
  fields.Add("max_us", Micros(medians.most));
  fields.Add("worst_us", Micros(medians.worst));
  fields.Add("mean_us", Micros(medians.mean));
  fields.Add("writes_p50_us", Micros(medians.writes_p50));
  fields.Add("writes_mean_us", Micros(medians.writes_mean));
  fields.Add("operations", absl::StrCat(medians.operations));
  fields.Add("spread", Number(medians.spread));
  fields.Add(
      "rounds",
      absl::StrCat(
          "[",
          absl::StrJoin(
              All(row, [](const Turn& turn) { return turn.per_second; }), ", ",
              [](std::string* out, double value) {
                absl::StrAppend(out, Number(value));
              }),
          "]"));
  fields.Add("lateness_p50_us", Micros(medians.lateness_p50));
  fields.Add("lateness_p99_us", Micros(medians.lateness_p99));
  Fields roles;
  for (const RoleTime& time : medians.processor_time) {
    roles.Add(time.role, Number(time.micros));
  }
  fields.Add("processor_us_per_op", roles.ToJson());
  fields.Add("others_processors", Number(medians.others));
  fields.Add("foreign_processors", Number(medians.foreign));
  fields.Add("steal", Number(medians.steal));
  fields.Add("idle", Number(medians.idle));
  fields.Add("errors", absl::StrCat(row.errors));
  if (row.errors != 0) {
    fields.Text("first_error", row.first_error.ToString());
  }
  fields.Add("ratio_to", RatiosJson(row, rows));
  return fields.ToJson();
}

std::string Load(const Row& row, const Medians& medians) {
  if (row.cell.mode == Mode::kClosed) {
    return absl::StrCat(row.cell.outstanding);
  }
  const std::string rate = absl::StrFormat("%.0f/s", medians.offered);
  if (row.cell.load == 0) return rate;
  return absl::StrCat(row.cell.load, "% ", rate);
}

double ServersMicros(const Medians& medians) {
  double sum = 0;
  for (const RoleTime& time : medians.processor_time) sum += time.micros;
  return medians.processor_time.empty()
             ? 0
             : sum - medians.processor_time.front().micros;
}

std::string Ratio(double value) { return absl::StrFormat("%.2f", value); }

void AddLine(const Row& row, const std::vector<Row>& rows,
             const std::string& rival, std::string* text) {
  const Medians medians = MediansOf(row);
  const auto ratios = RatiosTo(row, rival, rows);
  absl::StrAppendFormat(
      text,
      "%-9s %-7s %6d %14s %-14s %9.0f %4.0f%% %8.0f %8.0f %8.0f %8.0f %9.0f "
      "%6s %6s %6s %6.1f %6.1f %5.2f %7.2f %4.1f%%%s\n",
      NameOf(row.cell.mode), row.cell.workload, row.cell.value_size,
      Load(row, medians), row.subject, medians.per_second, 100 * medians.spread,
      medians.p50 / 1e3, medians.p99 / 1e3, medians.p999 / 1e3,
      medians.p9999 / 1e3, medians.most / 1e3,
      ratios.has_value() ? Ratio(ratios->per_second) : "-",
      ratios.has_value() ? Ratio(ratios->p50) : "-",
      ratios.has_value() ? Ratio(ratios->p99) : "-", ServersMicros(medians),
      medians.processor_time.empty() ? 0
                                     : medians.processor_time.front().micros,
      medians.others, medians.foreign, 100 * medians.steal,
      row.errors == 0 ? ""
                      : absl::StrCat("  ", row.errors,
                                     " ERRORS: ", row.first_error.ToString()));
}

}  // namespace

Medians MediansOf(const Row& row) {
  const auto median = [&row](auto field) { return Median(All(row, field)); };
  Medians medians;
  medians.per_second = median([](const Turn& t) { return t.per_second; });
  medians.offered = median([](const Turn& t) { return t.offered; });
  medians.p50 = median([](const Turn& t) { return t.p50; });
  medians.p99 = median([](const Turn& t) { return t.p99; });
  medians.p999 = median([](const Turn& t) { return t.p999; });
  medians.p9999 = median([](const Turn& t) { return t.p9999; });
  medians.most = median([](const Turn& t) { return t.most; });
  medians.lateness_p50 = median([](const Turn& t) { return t.lateness_p50; });
  medians.lateness_p99 = median([](const Turn& t) { return t.lateness_p99; });
  medians.mean = median([](const Turn& t) { return t.mean; });
  medians.writes_p50 = median([](const Turn& t) { return t.writes_p50; });
  medians.writes_mean = median([](const Turn& t) { return t.writes_mean; });
  medians.others = median([](const Turn& t) { return t.others; });
  medians.foreign = median([](const Turn& t) { return t.foreign; });
  medians.steal = median([](const Turn& t) { return t.steal; });
  medians.idle = median([](const Turn& t) { return t.idle; });
  medians.spread = Spread(All(row, [](const Turn& t) { return t.per_second; }));
  for (const Turn& turn : row.turns) {
    medians.worst = std::max(medians.worst, turn.most);
    medians.operations += turn.operations;
  }
  if (row.turns.empty()) return medians;
  for (size_t i = 0; i < row.turns.front().processor_time.size(); ++i) {
    medians.processor_time.push_back(
        {row.turns.front().processor_time[i].role,
         median([i](const Turn& t) { return t.processor_time[i].micros; })});
  }
  return medians;
}

std::optional<Ratios> RatiosTo(const Row& row, const std::string& subject,
                               const std::vector<Row>& rows) {
  for (const Row& other : rows) {
    if (other.subject != subject || !SameCell(other.cell, row.cell)) continue;
    const Medians a = MediansOf(row), b = MediansOf(other);
    if (b.per_second == 0 || b.p50 == 0 || b.p99 == 0) return std::nullopt;
    return Ratios{a.per_second / b.per_second, a.p50 / b.p50, a.p99 / b.p99};
  }
  return std::nullopt;
}

std::vector<std::string> SubjectsOf(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    if (std::find(names.begin(), names.end(), row.subject) == names.end()) {
      names.push_back(row.subject);
    }
  }
  return names;
}

uint64_t ErrorsOf(const std::vector<Row>& rows) {
  uint64_t errors = 0;
  for (const Row& row : rows) errors += row.errors;
  return errors;
}

std::string ToJson(const Facts& facts, const std::vector<SubjectSpec>& specs,
                   const std::vector<Row>& rows) {
  std::vector<std::string> subjects, measurements;
  for (const SubjectSpec& spec : specs) {
    Fields fields;
    fields.Text("name", spec.name);
    fields.Text("kind", spec.kind);
    fields.Text("about", spec.about);
    subjects.push_back(fields.ToJson());
  }
  for (const Row& row : rows) measurements.push_back(RowJson(row, rows));
  return absl::StrCat(OpenResults("service", facts), ",\n\"subjects\": [\n",
                      absl::StrJoin(subjects, ",\n"),
                      "],\n\"measurements\": [\n",
                      absl::StrJoin(measurements, ",\n"), "]}\n");
}

std::string ToTables(const std::vector<SubjectSpec>& specs,
                     const std::vector<Row>& rows, const std::string& rival) {
  std::string text = "\n";
  for (const SubjectSpec& spec : specs) {
    absl::StrAppendFormat(&text, "%-14s %s\n", spec.name, spec.about);
  }
  absl::StrAppendFormat(
      &text,
      "\nLatencies in us; processor time in us for each operation; / x: over "
      "%s's\n%-9s %-7s %6s %14s %-14s %9s %5s %8s %8s %8s %8s %9s %6s %6s %6s "
      "%6s %6s %5s %7s %5s\n",
      rival, "mode", "work", "bytes", "load", "subject", "per s", "sprd", "p50",
      "p99", "p99.9", "p99.99", "max", "/ per s", "/ p50", "/ p99", "servers",
      "driver", "other", "foreign", "steal");
  const Row* before = nullptr;
  for (const Row& row : rows) {
    if (before != nullptr && !SameCell(before->cell, row.cell)) {
      text.push_back('\n');
    }
    before = &row;
    AddLine(row, rows, rival, &text);
  }
  return text;
}

}  // namespace kamino::bench::service
