import { nodeRandom } from '../adapters/node/random.ts';
import { openEsdbPersonalKeys } from '../adapters/esdb/personal-keys.ts';
import { openSqlitePersonalKeys } from '../adapters/sqlite/event-log/personal-keys.ts';

const AT_ONCE = 16;

type ReportProgress = (done: number, all: number) => void;

/** Moves salts of personal data from the source's file to the streams of the target. */
export interface SaltsMove {
  /** Returns the number of salts. Rejects with `OtherSalt` if the target has a different one for the same subject. */
  copy(onProgress: ReportProgress): Promise<number>;
  /** Reads all of them back. Returns the subjects whose salt differs. */
  differing(onProgress: ReportProgress): Promise<string[]>;
  close(): Promise<void>;
}

/** The source's log must be open, because its writer lock covers the file. */
export function openSaltsMove({
  dataDir,
  connectionString,
  totalMs,
}: {
  dataDir: string;
  connectionString: string;
  totalMs: number;
}): SaltsMove {
  const source = openSqlitePersonalKeys({ dataDir, random: nodeRandom });
  const target = openEsdbPersonalKeys({ connectionString, random: nodeRandom, totalMs });
  const forEach = async (
    task: (subject: string, salt: Uint8Array) => Promise<void>,
    onProgress: ReportProgress,
  ): Promise<number> => {
    const all = source.count();
    let done = 0;
    for (const batch of batchesOf(source.all(), AT_ONCE)) {
      await Promise.all(batch.map(({ subject, salt }) => task(subject, salt)));
      onProgress((done += batch.length), all);
    }
    return done;
  };
  return {
    copy: (onProgress) => forEach((subject, salt) => target.adopt(subject, salt), onProgress),
    differing: async (onProgress) => {
      const differing: string[] = [];
      const compare = async (subject: string, salt: Uint8Array): Promise<void> => {
        const found = await target.get(subject);
        if (!found || !Buffer.from(found).equals(salt)) differing.push(subject);
      };
      await forEach(compare, onProgress);
      return differing;
    },
    close: async () => {
      await target.close();
      await source.close();
    },
  };
}

function* batchesOf<Item>(items: Iterable<Item>, size: number): Generator<Item[]> {
  let batch: Item[] = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
