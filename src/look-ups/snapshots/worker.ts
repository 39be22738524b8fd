import { chmodSync, rmSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { copyDatabase } from '../../adapters/sqlite/database-copy.ts';
import {
  compact,
  contentsOf,
  keepOnly,
  takeIn,
  type CopyContents,
} from '../../adapters/sqlite/read-model/shared-copy.ts';
import { readModelFile } from '../../adapters/sqlite/read-model/schema.ts';
import { ownedRows } from '../../runtime/projections/batch.ts';
import { projectionsNamed } from '../projections.ts';
import { fileDigest, type SnapshotManifest } from './manifest.ts';
import { threadData } from '../../runtime/util/thread-data.ts';
import { must } from '../../domain/values/must.ts';
import { lowerPriority } from '../../runtime/util/lower-priority.ts';

/*
 * Copies a consistent state of the look-ups while they continue, and reduces the copy to what another process can start
 * from.
 */

export interface SnapshotOrder {
  readonly dataDir: string;
  readonly projections: readonly string[];
  readonly to: string;
}

export type SnapshotCopy = CopyContents & { readonly file: SnapshotManifest['file'] };

const { dataDir, projections, to } = threadData<SnapshotOrder>();

lowerPriority();

const whole = `${to}.whole`;
for (const file of [to, whole]) rmSync(file, { force: true });
try {
  await copyDatabase(readModelFile(dataDir), whole);
  chmodSync(whole, 0o600);
  keepOnly(whole, projectionsNamed(projections).map(ownedRows));
  takeIn(whole, readModelFile(dataDir));
  compact(whole, to);
} finally {
  rmSync(whole, { force: true });
}
must(parentPort).postMessage({ ...must(contentsOf(to)), file: await fileDigest(to) } satisfies SnapshotCopy);
