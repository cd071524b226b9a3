import type { FolderReader, Found } from './ecosystem-shape.ts';

/** A Rust project: tests, and a check that compiles without them; clippy where the project has settings for it. */
export function findCargoGates(folder: FolderReader): Found | null {
  const manifest = folder.read('Cargo.toml');
  if (manifest === null) return null;
  const everything = /^[ \t]*\[workspace\b/m.test(manifest) ? ' --workspace' : '';
  const hasLints =
    /^[ \t]*\[(workspace\.)?lints\b/m.test(manifest) ||
    folder.list('.').some((name) => name === 'clippy.toml' || name === '.clippy.toml');
  return {
    ecosystem: 'cargo',
    lines: {
      test: `cargo test${everything}`,
      typecheck: `cargo check${everything} --all-targets`,
      ...(hasLints ? { lint: `cargo clippy${everything} --all-targets` } : {}),
    },
  };
}

/** A Go module: what every one has. */
export function findGoGates(folder: FolderReader): Found | null {
  if (folder.read('go.mod') === null) return null;
  return {
    ecosystem: 'go',
    lines: { test: 'go test ./...', lint: 'go vet ./...', build: 'go build ./...' },
  };
}
