import { createHash, hash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { z } from 'zod';
import { CannotOpen, openWith, sealWith, type KeyList } from '../../runtime/cryptography/sealing.ts';
import { must } from '../../domain/values/must.ts';
import { holding } from '../../domain/values/written-json.ts';

/** This process cannot use a snapshot; the message says why, after the name of its file. */
export class SnapshotRefused extends Error {
  override readonly name = 'SnapshotRefused';
}

const FORMAT = 1;
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const position = z.string().min(1);

const schema = z.strictObject({
  format: z.literal(FORMAT),
  node: z.string(),
  madeAtMs: z.int(),
  /** Version of the tables in the file. */
  schema: z.int(),
  /** `name@version` of each look-up, with the event up to which it was built. */
  projections: z.record(z.string(), position),
  log: z.strictObject({
    /** The newest signed checkpoint, as an event of the log. */
    checkpoint: z.strictObject({ revision: z.int().min(0), id: z.string(), hash: sha256, position }),
    /** The later events that the look-ups include. */
    since: z.strictObject({ through: position, events: z.int().min(0), digest: sha256 }),
  }),
  file: z.strictObject({ bytes: z.int().min(0), sha256 }),
});

export type SnapshotManifest = z.infer<typeof schema>;
export type LogAnchor = SnapshotManifest['log'];

const PURPOSE = 'look-up-snapshot';
const NAME = /^(look-ups-([0-9a-f]{8})-(\d{8}T\d{6}Z)-[A-Za-z0-9._-]+)\.manifest$/;

/** The name of a snapshot's files in the folder. */
export interface SnapshotName {
  readonly name: string;
  /** Identifies the contents: snapshots of one set have the same look-ups in the same form. */
  readonly set: string;
  readonly madeAtMs: number;
}

export const dataFile = (folder: string, name: string): string => join(folder, `${name}.db`);
export const manifestFile = (folder: string, name: string): string => join(folder, `${name}.manifest`);

export const setOf = (projections: readonly string[], fileSchema: number): string =>
  hash('sha256', [fileSchema, ...[...projections].sort()].join('|'), 'hex').slice(0, 8);

export function nameOf(set: string, node: string, madeAtMs: number): SnapshotName {
  const at = new Date(madeAtMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return { name: `look-ups-${set}-${at}-${node.replaceAll(/[^A-Za-z0-9._-]/g, '_')}`, set, madeAtMs: timeIn(at) };
}

/** The snapshots in the folder, newest first. */
export function snapshotsIn(folder: string): SnapshotName[] {
  const found = existsSync(folder) ? readdirSync(folder) : [];
  return found
    .flatMap((file) => {
      const [, name, set, at] = NAME.exec(file) ?? [];
      return name === undefined ? [] : [{ name, set: must(set), madeAtMs: timeIn(must(at)) }];
    })
    .sort((one, other) => other.madeAtMs - one.madeAtMs || (one.name < other.name ? -1 : 1));
}

/** Allowed difference between the clocks of nodes. */
const CLOCKS_APART_MS = 300_000;

/** Stamped by a fast clock, so its time is meaningless. */
export const isOfFuture = ({ madeAtMs }: SnapshotName, nowMs: number): boolean => madeAtMs - nowMs > CLOCKS_APART_MS;

const timeIn = (at: string): number =>
  Date.parse(at.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

/** Sealed with its name, so that an older one cannot pass for a newer one. */
export const sealManifest = (manifest: SnapshotManifest, name: string, keys: KeyList): string =>
  sealWith(keys, Buffer.from(JSON.stringify(manifest)), `${PURPOSE}|${name}`);

const isOfAnyFormat = holding<{ readonly format: unknown }>('format');

/** Throws `SnapshotRefused`. */
export function openManifest(folder: string, name: string, keys: KeyList): SnapshotManifest {
  const sealed = readFileSync(manifestFile(folder, name), 'utf8').trim();
  let text: string;
  try {
    text = Buffer.from(openWith(keys, sealed, `${PURPOSE}|${name}`)).toString('utf8');
  } catch (error) {
    if (!(error instanceof CannotOpen)) throw error;
    throw new SnapshotRefused(
      `its manifest was not made by a node of this installation under this name, or was altered since: ${error.message}`,
    );
  }
  const given: unknown = JSON.parse(text);
  const format = isOfAnyFormat(given) ? given.format : undefined;
  if (format !== FORMAT)
    throw new SnapshotRefused(`it is of format ${String(format)}, and this build reads format ${FORMAT}`);
  const parsed = schema.safeParse(given);
  if (!parsed.success)
    throw new SnapshotRefused(`its manifest is not valid for this build: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** Like `digestOf` of backups, but asynchronous, because the file may have gigabytes. */
export async function fileDigest(path: string): Promise<SnapshotManifest['file']> {
  const digest = createHash('sha256');
  const file = createReadStream(path, { highWaterMark: 1 << 20 }).on('data', (chunk) => digest.update(chunk));
  await finished(file);
  return { bytes: file.bytesRead, sha256: digest.digest('hex') };
}
