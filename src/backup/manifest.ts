import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { CommandRefused } from '../operator/server/commands.ts';

/**
 * Lists the contents of a backup. Written last, so a folder without it is not a backup. In a data directory it means
 * that the event log was restored.
 */
export const MANIFEST = 'backup.json';
/** The signer's files are in a separate folder. */
export const SIGNER_FOLDER = 'signer';

/** The signer's state: its journals, the checkpoints that it signed, how far addresses were leased. */
export const OF_SIGNER = /^(payouts|audit|addresses)-[A-Za-z0-9._-]*\.jsonl?$/;

/** Nothing that leads out of the folder. */
const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/);
const digest = z.strictObject({ bytes: z.int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) });
const files = z.record(name, digest);

const schema = z.strictObject({
  format: z.literal(1),
  made_at: z.iso.datetime(),
  data: z
    .strictObject({ events: z.int().min(0), chain: z.string(), last_event_at: z.iso.datetime().nullable(), files })
    .nullable(),
  signer: z.strictObject({ files: z.record(z.string().regex(OF_SIGNER), digest) }).nullable(),
});

export type Manifest = z.infer<typeof schema>;
export type FileDigests = z.infer<typeof files>;

/** Throws `CommandRefused` for a folder that is not a backup. */
export function readManifest(folder: string): Manifest {
  const file = join(folder, MANIFEST);
  if (!existsSync(file))
    throw new CommandRefused(
      `${folder} is not a backup: it lacks ${MANIFEST}, which is written when a backup is complete`,
    );
  const parsed = schema.safeParse(jsonIn(file));
  if (!parsed.success) throw new CommandRefused(`${file} is not what a backup holds: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

function jsonIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw new CommandRefused(`${file} is not JSON`);
  }
}

/** Differences from the manifest, one sentence each. */
export function faultsOfFiles(folder: string, expected: FileDigests): string[] {
  return Object.entries(expected).flatMap(([file, { bytes, sha256 }]) => {
    const path = join(folder, file);
    if (!existsSync(path)) return [`${path} is missing`];
    const found = digestOf(path);
    return found.sha256 === sha256 && found.bytes === bytes
      ? []
      : [`${path} differs from the backup: its SHA-256 is ${found.sha256}, not ${sha256}`];
  });
}

const CHUNK = 1024 * 1024;

export function digestOf(path: string): FileDigests[string] {
  const file = openSync(path, 'r');
  try {
    const hash = createHash('sha256');
    const chunk = Buffer.alloc(CHUNK);
    let bytes = 0;
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      hash.update(chunk.subarray(0, read));
      bytes += read;
    }
    return { bytes, sha256: hash.digest('hex') };
  } finally {
    closeSync(file);
  }
}
