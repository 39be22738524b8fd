import type { KeptBytes } from '../../src/ports/read-model/kept-bytes.ts';

/** Kept for as long as the test runs. */
export function bytesInMemory(): KeptBytes & { bytes: Uint8Array | null } {
  const kept = {
    bytes: null as Uint8Array | null,
    load: async () => kept.bytes,
    save: async (parts: Iterable<Uint8Array>) => {
      const taken: Uint8Array[] = [];
      for (const part of parts) {
        taken.push(part);
        await Promise.resolve();
      }
      kept.bytes = Buffer.concat(taken);
    },
  };
  return kept;
}
