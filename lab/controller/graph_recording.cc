// Graph 500's three kernels as its specification has them, over words in a
// store: generation of the list of edges, construction of adjacency lists (here
// compressed rows), breadth-first search with a tree of parents.
#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "lab/controller/recording.h"
#include "lab/controller/tracing_store.h"
#include "lab/controller/word_array.h"

namespace kamino::bench::controller {
namespace {

using engine::Transaction;
using engine::TransactionalStore;

constexpr uint64_t kEdgesPerVertex = 16;
// A heap has no less.
constexpr uint64_t kLeastBytes = 4u << 20;
// The generator's, of 100.
constexpr uint64_t kA = 57, kB = 19, kC = 19;

// Words, stored to in transactions of a few stores each.
class Wraps {
 public:
  Wraps(TracingStore* store, int stores_per_wrap)
      : store_(*store), stores_per_wrap_(stores_per_wrap) {}

  absl::StatusOr<uint64_t> Load(const WordArray& array, uint64_t index) {
    return array.Load(index, &store_, Live());
  }
  absl::Status Store(const WordArray& array, uint64_t index, uint64_t value) {
    RETURN_IF_ERROR(array.Store(index, value, Live()));
    return ++stores_ < stores_per_wrap_ ? absl::OkStatus() : Close();
  }
  absl::Status Close() {
    if (live_ == nullptr) return absl::OkStatus();
    const std::unique_ptr<Transaction> ends = std::move(live_);
    stores_ = 0;
    RETURN_IF_ERROR(ends->Commit());
    store_.Quiesce();
    return absl::OkStatus();
  }

 private:
  Transaction* Live() {
    if (live_ == nullptr) live_ = store_.Begin(kLockWait);
    return live_.get();
  }

  TracingStore& store_;
  const int stores_per_wrap_;
  std::unique_ptr<Transaction> live_;
  int stores_ = 0;
};

class Graph {
 public:
  Graph(const GraphOptions& options, TransactionalStore* store)
      : vertices_(uint64_t{1} << options.scale),
        edges_(vertices_ * kEdgesPerVertex),
        options_(options),
        store_(store, TracingOptions{0}),
        wraps_(&store_, options.stores_per_wrap),
        random_(options.seed) {}

  absl::StatusOr<GraphTraces> Record() {
    ASSIGN_OR_RETURN(list_, WordArray::Create(2 * edges_, &store_));
    ASSIGN_OR_RETURN(begins_, WordArray::Create(vertices_ + 1, &store_));
    ASSIGN_OR_RETURN(cursors_, WordArray::Create(vertices_, &store_));
    ASSIGN_OR_RETURN(neighbours_, WordArray::Create(2 * edges_, &store_));
    ASSIGN_OR_RETURN(parents_, WordArray::Create(vertices_, &store_));
    ASSIGN_OR_RETURN(queue_, WordArray::Create(vertices_, &store_));
    store_.TakeTrace();
    GraphTraces traces;
    RETURN_IF_ERROR(Generate());
    ASSIGN_OR_RETURN(traces.generate, Taken());
    RETURN_IF_ERROR(Build());
    ASSIGN_OR_RETURN(traces.build, Taken());
    for (int i = 0; i < options_.searches; ++i) {
      RETURN_IF_ERROR(Search(random_() % vertices_));
    }
    ASSIGN_OR_RETURN(traces.search, Taken());
    return traces;
  }

 private:
  absl::StatusOr<Trace> Taken() {
    RETURN_IF_ERROR(wraps_.Close());
    return store_.TakeTrace();
  }

  absl::Status Generate() {
    // So that a vertex's number says nothing of its degree.
    std::vector<uint64_t> names(vertices_);
    for (uint64_t i = 0; i < vertices_; ++i) {
      names[i] = i;
      std::swap(names[i], names[random_() % (i + 1)]);
    }
    for (uint64_t edge = 0; edge < edges_; ++edge) {
      uint64_t from = 0, to = 0;
      for (int bit = 0; bit < options_.scale; ++bit) {
        const uint64_t drawn = random_() % 100;
        from = 2 * from + (drawn >= kA + kB ? 1 : 0);
        to =
            2 * to +
            ((drawn >= kA && drawn < kA + kB) || drawn >= kA + kB + kC ? 1 : 0);
      }
      RETURN_IF_ERROR(wraps_.Store(list_, 2 * edge, names[from]));
      RETURN_IF_ERROR(wraps_.Store(list_, 2 * edge + 1, names[to]));
    }
    return absl::OkStatus();
  }

  absl::Status Build() {
    // Degrees, where the next vertex's list is to begin.
    for (uint64_t i = 0; i < 2 * edges_; ++i) {
      ASSIGN_OR_RETURN(const uint64_t vertex, wraps_.Load(list_, i));
      ASSIGN_OR_RETURN(const uint64_t degree, wraps_.Load(begins_, vertex + 1));
      RETURN_IF_ERROR(wraps_.Store(begins_, vertex + 1, degree + 1));
    }
    uint64_t sum = 0;
    for (uint64_t vertex = 0; vertex < vertices_; ++vertex) {
      RETURN_IF_ERROR(wraps_.Store(cursors_, vertex, sum));
      ASSIGN_OR_RETURN(const uint64_t degree, wraps_.Load(begins_, vertex + 1));
      sum += degree;
      RETURN_IF_ERROR(wraps_.Store(begins_, vertex + 1, sum));
    }
    for (uint64_t i = 0; i < 2 * edges_; ++i) {
      ASSIGN_OR_RETURN(const uint64_t from, wraps_.Load(list_, i));
      ASSIGN_OR_RETURN(const uint64_t to, wraps_.Load(list_, i ^ 1));
      ASSIGN_OR_RETURN(const uint64_t cursor, wraps_.Load(cursors_, from));
      RETURN_IF_ERROR(wraps_.Store(neighbours_, cursor, to));
      RETURN_IF_ERROR(wraps_.Store(cursors_, from, cursor + 1));
    }
    return absl::OkStatus();
  }

  // A parent is stored as its number plus one; zero: none yet.
  absl::Status Search(uint64_t root) {
    for (uint64_t vertex = 0; vertex < vertices_; ++vertex) {
      RETURN_IF_ERROR(wraps_.Store(parents_, vertex, 0));
    }
    RETURN_IF_ERROR(wraps_.Store(parents_, root, root + 1));
    RETURN_IF_ERROR(wraps_.Store(queue_, 0, root));
    uint64_t end = 1;
    for (uint64_t next = 0; next < end; ++next) {
      ASSIGN_OR_RETURN(const uint64_t vertex, wraps_.Load(queue_, next));
      ASSIGN_OR_RETURN(const uint64_t first, wraps_.Load(begins_, vertex));
      ASSIGN_OR_RETURN(const uint64_t last, wraps_.Load(begins_, vertex + 1));
      for (uint64_t i = first; i < last; ++i) {
        ASSIGN_OR_RETURN(const uint64_t to, wraps_.Load(neighbours_, i));
        ASSIGN_OR_RETURN(const uint64_t parent, wraps_.Load(parents_, to));
        if (parent != 0) continue;
        RETURN_IF_ERROR(wraps_.Store(parents_, to, vertex + 1));
        RETURN_IF_ERROR(wraps_.Store(queue_, end++, to));
      }
    }
    return absl::OkStatus();
  }

  const uint64_t vertices_;
  const uint64_t edges_;
  const GraphOptions options_;
  TracingStore store_;
  Wraps wraps_;
  std::mt19937_64 random_;
  WordArray list_, begins_, cursors_, neighbours_, parents_, queue_;
};

}  // namespace

absl::StatusOr<GraphTraces> RecordGraph(const GraphOptions& options,
                                        TransactionalStore* store) {
  return Graph(options, store).Record();
}

uint64_t GraphBytes(const GraphOptions& options) {
  const uint64_t vertices = uint64_t{1} << options.scale;
  const uint64_t words = vertices * (4 * kEdgesPerVertex + 4) + 1;
  // Every array has a last chunk.
  return std::max<uint64_t>(words * 8 + 6 * 2 * WordArray::kChunkBytes,
                            kLeastBytes);
}

}  // namespace kamino::bench::controller
