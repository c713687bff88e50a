#include "security/access_table.h"

#include <algorithm>
#include <iterator>

#include "absl/container/flat_hash_map.h"

namespace kamino::security {
namespace {

constexpr RoleSet kData = {Role::kWriter, Role::kReader};
constexpr RoleSet kWrites = {Role::kWriter};
constexpr RoleSet kOperates = {Role::kOperator};
constexpr RoleSet kLooks = {Role::kOperator, Role::kReader};
// A manager's live page shows the nodes' status.
constexpr RoleSet kLooksAtNodes = {Role::kManager, Role::kOperator,
                                   Role::kReader};
constexpr RoleSet kNodes = {Role::kNode};
constexpr RoleSet kEverybody = {Role::kNode, Role::kManager, Role::kOperator,
                                Role::kWriter, Role::kReader};

constexpr AccessRule Call(absl::string_view name, RoleSet roles) {
  return {Asked::kCall, 0, name, roles};
}
constexpr AccessRule Frame(uint16_t number, absl::string_view name,
                           RoleSet roles) {
  return {Asked::kFrame, number, name, roles};
}
constexpr AccessRule Request(uint16_t number, absl::string_view name,
                             RoleSet roles) {
  return {Asked::kRequest, number, name, roles};
}

constexpr AccessRule Page(absl::string_view path, RoleSet roles) {
  return {Asked::kPage, 0, path, roles};
}

constexpr AccessRule kTable[] = {
    Call("/kamino.v1.KaminoService/Get", kData),
    Call("/kamino.v1.KaminoService/BatchGet", kData),
    Call("/kamino.v1.KaminoService/Put", kWrites),
    Call("/kamino.v1.KaminoService/Patch", kWrites),
    Call("/kamino.v1.KaminoService/Delete", kWrites),
    Call("/kamino.v1.KaminoService/Scan", kData),
    Call("/kamino.v1.KaminoService/Commit", kWrites),
    Call("/kamino.v1.KaminoService/Call", kWrites),
    Call("/kamino.v1.KaminoService/GetOutcome", kWrites),
    // Every client needs to know the members of the chain.
    Call("/kamino.v1.KaminoService/GetChain", kEverybody),
    Call("/kamino.v1.KaminoService/WatchChain", kEverybody),
    Call("/kamino.v1.KaminoService/GetNodeStatus", kLooksAtNodes),

    Call("/kamino.v1.SessionService/Connect", kData),
    Call("/kamino.v1.SessionService/GetCarriers", kData),
    Call("/kamino.v1.SessionService/ConnectPair", kData),
    Call("/kamino.v1.SessionService/GetLinkPass", kData),

    Call("/kamino.v1.BackupService/Save", kOperates),
    Call("/kamino.v1.BackupService/Restore", kOperates),

    Call("/kamino.v1.AdminService/GetCluster", kLooks),
    Call("/kamino.v1.AdminService/GetManager", kLooks),
    Call("/kamino.v1.AdminService/RemoveNode", kOperates),
    Call("/kamino.v1.AdminService/AddNode", kOperates),
    Call("/kamino.v1.AdminService/Recover", kOperates),
    Call("/kamino.v1.AdminService/Finalize", kOperates),
    Call("/kamino.v1.DebugService/GetDebug", kOperates),

    Call("/kamino.internal.v1.MembershipService/Register", kNodes),
    Call("/kamino.internal.v1.MembershipService/Heartbeat", kNodes),
    Call("/kamino.internal.v1.VouchService/Vouch", kNodes),
    Call("/kamino.internal.v1.VerbsLinks/Connect", kNodes),
    Call("/kamino.internal.v1.ChainLinks/GetPass", kNodes),

    Call("/grpc.health.v1.Health/Check", kEverybody),
    Call("/grpc.health.v1.Health/Watch", kEverybody),
    Call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
         kOperates),

    // Probes are permitted to all clients and are not listed here.
    Page("/metrics", kLooks),
    Page("/", kLooks),
    Page("/chain.json", kLooks),

    Frame(1, "HELLO", kData),
    // A session takes space in the chain's state, and only mutations need it.
    {Asked::kSession, 0, "a HELLO with a session", kWrites},
    Frame(3, "REQUESTS", kData),
    Frame(5, "GOODBYE", kData),

    Request(1, "GET", kData),
    Request(2, "BATCH_GET", kData),
    Request(3, "PUT", kWrites),
    Request(4, "PATCH", kWrites),
    Request(5, "DELETE", kWrites),
    Request(6, "COMMIT", kWrites),
    Request(7, "CALL", kWrites),
    Request(8, "VOID", kWrites),
    Request(9, "KEEP_ALIVE", kData),
    Request(10, "CLOSE", kData),
    Request(11, "CANCEL", kData),
    Request(12, "TRACE", kData),
};

const AccessRule* Find(Asked kind, uint16_t number) {
  const auto found = std::find_if(
      std::begin(kTable), std::end(kTable), [&](const AccessRule& rule) {
        return rule.kind == kind && rule.number == number;
      });
  return found == std::end(kTable) ? nullptr : found;
}

}  // namespace

absl::Span<const AccessRule> AccessTable() { return kTable; }

const AccessRule* RuleOfCall(absl::string_view method) {
  static const auto* const rules = [] {
    auto* by_name =
        new absl::flat_hash_map<absl::string_view, const AccessRule*>;
    for (const AccessRule& rule : kTable) {
      if (rule.kind == Asked::kCall) (*by_name)[rule.name] = &rule;
    }
    return by_name;
  }();
  const auto found = rules->find(method);
  return found == rules->end() ? nullptr : found->second;
}

const AccessRule* RuleOfPage(absl::string_view path) {
  const auto found = std::find_if(
      std::begin(kTable), std::end(kTable), [path](const AccessRule& rule) {
        return rule.kind == Asked::kPage && rule.name == path;
      });
  return found == std::end(kTable) ? nullptr : found;
}

const AccessRule* RuleOfFrame(uint8_t kind) {
  return Find(Asked::kFrame, kind);
}

const AccessRule* RuleOfSession() { return Find(Asked::kSession, 0); }

const AccessRule* RuleOfRequest(uint16_t method) {
  // Looked up for each request of a session.
  static const auto* const rules = [] {
    auto* by_number = new std::vector<const AccessRule*>;
    for (uint16_t number = 0; number < std::size(kTable); ++number) {
      by_number->push_back(Find(Asked::kRequest, number));
    }
    return by_number;
  }();
  return method < rules->size() ? (*rules)[method] : nullptr;
}

}  // namespace kamino::security
