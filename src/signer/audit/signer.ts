import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { AuditAnchor, AuditIdentity, CheckpointRequest, CheckpointVerdict } from '../../ports/event-log/audit.ts';
import { checkpointText, noteOf, verifierKeyText } from '../../runtime/merkle/checkpoint-note.ts';
import { verifyConsistency } from '../../runtime/merkle/tree.ts';
import type { AuditKey } from './key.ts';
import { JournalBroken } from '../journal/journal.ts';
import { backedUpAtMs } from '../../runtime/files/backup-mark.ts';
import { makeFolder } from '../../runtime/files/make-folder.ts';

interface KeptAnchor extends AuditAnchor {
  /** Unix milliseconds. */
  readonly atMs: number;
}

const keptSchema: z.ZodType<KeptAnchor[]> = z.array(
  z.strictObject({
    size: z.int().min(1),
    rootHash: z.string().length(44),
    checkpoint: z.string().min(1),
    atMs: z.int().min(0),
  }),
);

const DAY_MS = 86_400_000;

/**
 * Signs checkpoints and remembers them outside the event log's files and their backups: the newest one, and one for
 * each earlier day. It signs only continuations of the newest, so a rewritten event log gets no signature.
 */
export class AuditSigner {
  readonly #file: string;
  readonly #key: AuditKey;
  #kept: readonly KeptAnchor[];

  private constructor(file: string, key: AuditKey, kept: readonly KeptAnchor[]) {
    this.#file = file;
    this.#key = key;
    this.#kept = kept;
  }

  /** Throws `JournalBroken` if the file is not a valid file of this signer. */
  static open(directory: string, key: AuditKey): AuditSigner {
    makeFolder(directory);
    const file = join(directory, `audit-${key.verifierKey.id}.json`);
    return new AuditSigner(file, key, existsSync(file) ? readKept(file) : []);
  }

  /** Oldest first; the last one is the newest checkpoint. */
  get anchors(): readonly AuditAnchor[] {
    return this.#kept;
  }

  identity(): AuditIdentity {
    const { verifierKey } = this.#key;
    const anchors = this.#kept.map(({ size, rootHash, checkpoint }) => ({ size, rootHash, checkpoint }));
    return {
      ...{ origin: verifierKey.name, verifierKey: verifierKeyText(verifierKey), anchors, anchorFile: this.#file },
      backedUpAtMs: backedUpAtMs(dirname(this.#file)),
    };
  }

  sign({ size, rootHash, consistency }: CheckpointRequest): CheckpointVerdict {
    const last = this.#kept.at(-1);
    if (last?.size === size && last.rootHash === rootHash) return { ok: true, checkpoint: last.checkpoint };
    const root = Buffer.from(rootHash, 'base64');
    if (last && !continues(last, size, root, consistency))
      return {
        ok: false,
        message: `the log of ${size} events does not extend the ${last.size} events signed last`,
      };
    const text = checkpointText({ origin: this.#key.verifierKey.name, size, root });
    const checkpoint = noteOf(text, this.#key.verifierKey, this.#key.sign(text));
    this.#remember({ size, rootHash, checkpoint, atMs: Date.now() });
    return { ok: true, checkpoint };
  }

  #remember(anchor: KeptAnchor): void {
    const before = this.#kept.at(-1);
    const earlier = this.#kept.slice(0, -1);
    const isLastOfItsDay =
      before !== undefined && Math.floor(before.atMs / DAY_MS) !== Math.floor(anchor.atMs / DAY_MS);
    const kept = [...earlier, ...(isLastOfItsDay ? [before] : []), anchor];
    writeKept(this.#file, kept);
    this.#kept = kept;
  }
}

const ANCHOR_FILE = /^audit-[0-9a-f]+\.json$/;

/**
 * For an event log that was deliberately rolled back: checkpoints of more events than exist now are moved to files with
 * the stamp and forgotten. The signer must not be running. Returns their files.
 */
export function leaveOutAnchorsAbove(directory: string, events: number, stamp: string): string[] {
  const files = readdirSync(directory).filter((name) => ANCHOR_FILE.test(name));
  return files.flatMap((name) => {
    const file = join(directory, name);
    const kept = readKept(file);
    if (!kept.some(({ size }) => size > events)) return [];
    const aside = `${file}.before-restore-${stamp}`;
    copyFileSync(file, aside);
    writeKept(
      file,
      kept.filter(({ size }) => size <= events),
    );
    return [aside];
  });
}

/**
 * Checkpoints that the signers in this directory signed, smallest first, for callers without a running signer; none if
 * there are no files.
 */
export function keptAnchors(directory: string): AuditAnchor[] {
  if (!existsSync(directory)) return [];
  const files = readdirSync(directory).filter((name) => ANCHOR_FILE.test(name));
  return files.flatMap((name) => readKept(join(directory, name))).sort((one, other) => one.size - other.size);
}

function writeKept(path: string, kept: readonly KeptAnchor[]): void {
  const file = openSync(`${path}.new`, 'w', 0o600);
  try {
    // Writes until everything is written: a single write to a disk that fills up may be short without an error.
    writeFileSync(file, JSON.stringify(kept));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.new`, path);
}

function continues(last: AuditAnchor, size: number, root: Buffer, consistency: readonly string[]): boolean {
  const proof = consistency.map((node) => Buffer.from(node, 'base64'));
  return verifyConsistency(last.size, size, proof, Buffer.from(last.rootHash, 'base64'), root);
}

function readKept(file: string): KeptAnchor[] {
  try {
    return keptSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    throw new JournalBroken(
      `${file} is not what the signer wrote: the signer must know which checkpoints it has signed`,
    );
  }
}
