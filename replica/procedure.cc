#include "replica/procedure.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "replica/builtins.h"
#include "replica/errors.h"

namespace kamino::replica {

absl::StatusOr<ObjectView> ProcedureContext::Get(absl::string_view key) {
  auto object = Find(key);
  if (!object.ok()) return object;
  RETURN_IF_ERROR(meter_->TouchBytes(object->value.size()));
  return object;
}

absl::StatusOr<ObjectView> ProcedureContext::Find(absl::string_view key) {
  auto entry = objects_->Get(key);
  if (!entry.ok()) return Explain(entry.status(), key);
  return ObjectView{entry->version, entry->value};
}

absl::Status ProcedureContext::Put(absl::string_view key,
                                   absl::string_view value) {
  RETURN_IF_ERROR(meter_->TouchBytes(value.size()));
  return Changed(objects_->Put(key, value, sequence_), key);
}

absl::Status ProcedureContext::Patch(absl::string_view key, uint64_t offset,
                                     absl::string_view data) {
  RETURN_IF_ERROR(meter_->TouchBytes(data.size()));
  return Changed(objects_->Patch(key, offset, data, sequence_), key);
}

absl::Status ProcedureContext::Delete(absl::string_view key) {
  return Changed(objects_->Delete(key, sequence_), key);
}

absl::Status ProcedureContext::Expect(
    absl::Span<const engine::KeyValue::Change> changes) {
  // From now on it holds the objects' locks and copies: if the request fails it
  // must be rolled back, although it has written nothing.
  changed_ = true;
  return Explain(objects_->Expect(changes),
                 changes.empty() ? "" : changes.front().key);
}

absl::Status ProcedureContext::Changed(const absl::Status& status,
                                       absl::string_view key) {
  changed_ |= status.ok();
  return Explain(status, key);
}

absl::Status ProcedureContext::Scan(
    absl::string_view start, absl::string_view end,
    absl::FunctionRef<bool(absl::string_view, const ObjectView&)> visit) {
  absl::Status too_much;
  absl::Status scanned = objects_->Scan(
      start, end, /*limit=*/0, [&](absl::string_view key, const auto& entry) {
        too_much = meter_->TouchBytes(entry.value.size());
        return too_much.ok() &&
               visit(key, ObjectView{entry.version, entry.value});
      });
  return Explain(scanned.ok() ? too_much : scanned, start);
}

absl::StatusOr<bool> ProcedureContext::RangeUnchangedSince(
    absl::string_view start, absl::string_view end, uint64_t sequence) {
  auto unchanged = objects_->RangeUnchangedSince(start, end, sequence);
  if (!unchanged.ok()) return Explain(unchanged.status(), start);
  return unchanged;
}

absl::Status ProcedureContext::Explain(const absl::Status& status,
                                       absl::string_view key) {
  if (absl::IsDataLoss(status)) damage_ = status;
  if (absl::IsPermissionDenied(status)) denied_ = status;
  return ExplainKeyError(status, key);
}

bool IsBuiltin(absl::string_view name) {
  return absl::StartsWith(name, "kv.") || absl::StartsWith(name, "kamino.");
}

namespace {

struct Link {
  const char* name;
  Procedure procedure;
  Support support;
};
using Linked = std::vector<Link>;

// Filled while the program's constants are initialised, by one thread.
Linked& LinkedProcedures() {
  static auto* const linked = new Linked;
  return *linked;
}

}  // namespace

LinkedProcedure::LinkedProcedure(const char* name, Procedure procedure,
                                 Support support) {
  LinkedProcedures().push_back({name, std::move(procedure), support});
}

void ProcedureRegistry::RegisterLinked() {
  for (const Link& link : LinkedProcedures()) {
    Register(link.name, link.procedure, link.support);
  }
}

ProcedureRegistry::ProcedureRegistry() { procedures_ = BuiltinProcedures(); }

void ProcedureRegistry::Register(std::string name, Procedure procedure,
                                 Support support) {
  CHECK(!name.empty() && name.size() <= 128) << "procedure name: " << name;
  CHECK(std::all_of(name.begin(), name.end(),
                    [](char c) {
                      return absl::ascii_isalnum(c) || c == '.' || c == '_' ||
                             c == '-';
                    }))
      << "procedure name: " << name;
  CHECK(!IsBuiltin(name)) << "procedure name is reserved: " << name;
  if (support == Support::kWithdrawn) withdrawn_.insert(name);
  const bool added =
      procedures_.emplace(std::move(name), std::move(procedure)).second;
  CHECK(added) << "procedure registered twice";
}

const Procedure* ProcedureRegistry::Find(absl::string_view name) const {
  const auto found = procedures_.find(name);
  return found == procedures_.end() ? nullptr : &found->second;
}

bool ProcedureRegistry::IsWithdrawn(absl::string_view name) const {
  return withdrawn_.contains(name);
}

std::vector<std::string> ProcedureRegistry::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, procedure] : procedures_) names.push_back(name);
  return names;
}

}  // namespace kamino::replica
