// The namespace of the launcher runtime: `stitch::runtime` in stitchc itself, a name of its own in
// every bundle, so that several models link statically into one process.
#ifndef STITCH_RUNTIME_NAMESPACE_H_
#define STITCH_RUNTIME_NAMESPACE_H_

#ifndef STITCH_RUNTIME_NAMESPACE
#define STITCH_RUNTIME_NAMESPACE stitch::runtime
#endif

#endif  // STITCH_RUNTIME_NAMESPACE_H_
