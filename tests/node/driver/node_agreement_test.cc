#include "node/driver/node_agreement.h"

#include <memory>
#include <string>

#include "base/chain_mode.h"
#include "base/undo_copy_kind.h"
#include "gtest/gtest.h"
#include "membership/agreement.h"
#include "node/storage/storage.h"
#include "replica/procedure.h"
#include "tests/node/storage/sim_media.h"

namespace kamino::node {
namespace {

using membership::Agreement;

Agreement Of(ChainMode mode, UndoCopyKind undo_copy, double alpha = 0.5) {
  SimDisk disk;
  StorageOptions options;
  options.cluster_id = "c";
  options.node_id = "n1";
  options.mode = mode;
  options.heap_bytes = 512 << 10;
  options.ring_bytes = 128 << 10;
  options.tiny_log_bytes = 64 << 10;
  options.undo_copy = undo_copy;
  options.alpha = alpha;
  auto storage = Storage::Open(options, std::make_unique<SimMedia>(&disk));
  EXPECT_TRUE(storage.ok()) << storage.status();
  return AgreementOf(**storage, replica::ProcedureRegistry(), 1 << 20);
}

std::string Differ(const Agreement& a, const Agreement& b) {
  return MismatchOf(a, "n2", b, "n1");
}

TEST(NodeAgreementTest, NodesInModeTraditionalNeedEqualUndoCopies) {
  const auto of = [](UndoCopyKind kind, double alpha = 0.5) {
    return Of(ChainMode::kTraditional, kind, alpha);
  };
  const Agreement log = of(UndoCopyKind::kLog);
  EXPECT_EQ(Differ(log, of(UndoCopyKind::kLog, 0.25)), "");
  EXPECT_EQ(Differ(of(UndoCopyKind::kDynamic), log),
            "undo copy (--undo_copy) is dynamic at n2, but log at n1");
  EXPECT_EQ(Differ(of(UndoCopyKind::kSimple), log),
            "undo copy (--undo_copy) is simple at n2, but log at n1");
  EXPECT_EQ(Differ(log, of(UndoCopyKind::kSimple)),
            "undo copy (--undo_copy) is log at n2, but simple at n1");
  const Agreement dynamic = of(UndoCopyKind::kDynamic);
  EXPECT_EQ(Differ(dynamic, of(UndoCopyKind::kDynamic)), "");
  EXPECT_EQ(Differ(dynamic, of(UndoCopyKind::kDynamic, 0.25)),
            "undo copy size in KiB (--alpha) is 260 at n2, but 132 at n1");
}

// Each has its own, and a release that says nothing of it fits.
TEST(NodeAgreementTest, UndoCopiesOfHeadsMayDiffer) {
  for (const ChainMode mode : {ChainMode::kKamino, ChainMode::kImages}) {
    const Agreement simple = Of(mode, UndoCopyKind::kSimple);
    EXPECT_EQ(Differ(simple, Of(mode, UndoCopyKind::kDynamic, 0.25)), "");
    EXPECT_EQ(simple.count(std::string(membership::kUndoCopyTerm)), 0u);
  }
}

TEST(NodeAgreementTest, AProcedureIsCalledOnceItIsFinalized) {
  membership::View view;
  for (const char* id : {"n1", "n2"}) {
    view.members.emplace_back();
    view.members.back().node_id = id;
  }
  view.in_force = {{"procedure p", 0}};
  view.members[0].agreement = {{"procedure p", {0, 1}}};
  EXPECT_EQ(CheckInForce(view, "p").message(),
            "procedure p is not in force, as node n2 does not have it");
  view.members[1].agreement = {{"procedure p", {0, 1}}};
  EXPECT_EQ(CheckInForce(view, "p").message(),
            "procedure p is not in force, though all nodes have it: kamino "
            "admin finalize");
  view.Finalize();
  EXPECT_EQ(CheckInForce(view, "p"), absl::OkStatus());
  for (membership::Member& member : view.members) {
    member.agreement["procedure p"].withdrawn = true;
  }
  EXPECT_EQ(CheckInForce(view, "p"), absl::OkStatus());
  view.Finalize();
  EXPECT_EQ(CheckInForce(view, "p").message(),
            "procedure p was withdrawn: this release of the nodes no longer "
            "offers it");
}

}  // namespace
}  // namespace kamino::node
