// Media whose regions are wrapped into others.
#ifndef KAMINO_NODE_STORAGE_WRAPPED_MEDIA_H_
#define KAMINO_NODE_STORAGE_WRAPPED_MEDIA_H_

#include <functional>
#include <memory>

#include "engine/pmem/region.h"
#include "node/storage/media.h"

namespace kamino::node {

using WrapRegion = std::function<std::unique_ptr<engine::Region>(
    std::unique_ptr<engine::Region>)>;

// Returns `media`, with `wrap` applied to each region that it creates or opens.
std::unique_ptr<Media> WithWrappedRegions(std::unique_ptr<Media> media,
                                          WrapRegion wrap);

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_WRAPPED_MEDIA_H_
