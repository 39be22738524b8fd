import { chmodSync, copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { LogAudit } from '../adapters/sqlite/event-log/log-audit.ts';
import { openSqliteEventStore } from '../adapters/sqlite/event-log/event-store.ts';
import { SpilledMap } from '../adapters/sqlite/read-model/spilled-map.ts';
import type { Mode } from '../domain/values/ids.ts';
import { addressFamilyOf, type AddressFamily } from '../domain/networks/networks.ts';
import { StreamHistories } from '../features/audit/replay.ts';
import { withKeptKeys } from '../features/shared/kept-keys.ts';
import { MerchantDirectory } from '../features/merchants/directory.ts';
import type { AuditAnchor } from '../ports/event-log/audit.ts';
import type { RecordedEvent } from '../ports/event-log/event-store.ts';
import { dataOf } from '../runtime/commands/codec.ts';
import {
  createSealer,
  keyIdsWithin,
  parseMasterKeys,
  SEALED_KINDS,
  type SealingKeys,
} from '../runtime/cryptography/sealing.ts';
import { keptMasterKey } from '../runtime/files/kept-master-key.ts';
import { keptAnchors } from '../signer/audit/signer.ts';
import { JournalBroken, readJournal } from '../signer/journal/journal.ts';
import { faultsOfFiles, readManifest, SIGNER_FOLDER, type FileDigests, type Manifest } from './manifest.ts';
import { syncPath } from '../runtime/files/sync-path.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { makeFolder } from '../runtime/files/make-folder.ts';

/**
 * How far the addresses of one wallet had been used: those below were leased, those from `unusedFrom` on belong to no
 * session in the event log.
 */
export interface AddressReach {
  readonly mode: Mode;
  readonly family: AddressFamily;
  readonly unusedFrom: number;
  readonly leasedBelow: number;
}

export interface BackupReport {
  readonly ok: boolean;
  readonly made_at: string;
  readonly events: number | null;
  /** Root of the Merkle tree over all events, as in checkpoints; Base64. */
  readonly root_hash: string | null;
  readonly last_event_at: string | null;
  readonly files: number;
  /** Whether the keys of this machine open its sealed contents. Without a key the seal of its event log is not checked. */
  readonly secrets: 'open' | 'not tried: no key is set' | 'do not open';
  /**
   * Ids of the keys that something in the event log is sealed under, and that neither the settings nor the log hold:
   * older ones, which this backup needs too. Null if no key is set.
   */
  readonly keys_missing: readonly string[] | null;
  readonly faults: readonly string[];
}

const TREASURY_STREAMS = 'treasury-';

export interface VerifiedBackup {
  readonly folder: string;
  readonly manifest: Manifest;
  readonly report: BackupReport;
  /** Those of the settings, or of the sandbox in the backup; null if there are none. */
  readonly sealingKeys: SealingKeys | null;
  readonly reach: readonly AddressReach[];
  /** Hashes of the journal entries of everything signed according to the event log. */
  readonly signed: ReadonlySet<string>;
}

/**
 * Copies the backup into a scratch folder and reads all of it there, like a start would. Does not change the backup.
 */
export async function verifyBackup(given: string, keys: SealingKeys | null): Promise<VerifiedBackup> {
  const folder = resolve(given);
  const own = keys ? null : keptMasterKey(folder);
  const sealingKeys = own === null ? keys : parseMasterKeys(own);
  const manifest = readManifest(folder);
  const faults = [
    ...faultsOfFiles(folder, manifest.data?.files ?? {}),
    ...faultsOfFiles(join(folder, SIGNER_FOLDER), manifest.signer?.files ?? {}),
  ];
  if (faults.length === 0) faults.push(...faultsOfJournals(join(folder, SIGNER_FOLDER), manifest.signer?.files ?? {}));
  const scratch = mkdtempSync(join(tmpdir(), 'quittance-restore-'));
  try {
    const read =
      manifest.data && faults.length === 0
        ? await readThrough(folder, scratch, manifest.data, manifest.signer, sealingKeys)
        : null;
    const all = [...faults, ...(read?.faults ?? [])];
    const report: BackupReport = {
      ok: all.length === 0,
      made_at: manifest.made_at,
      events: manifest.data?.events ?? null,
      root_hash: read?.rootHash ?? null,
      last_event_at: manifest.data?.last_event_at ?? null,
      files: Object.keys(manifest.data?.files ?? {}).length + Object.keys(manifest.signer?.files ?? {}).length,
      ...{ secrets: read?.secrets ?? 'not tried: no key is set', keys_missing: read?.missing ?? null, faults: all },
    };
    return { folder, manifest, report, sealingKeys, reach: read?.reach ?? [], signed: read?.signed ?? new Set() };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** A signer would not start with a damaged journal, whose contents could not be compared with the event log either. */
function faultsOfJournals(folder: string, files: FileDigests): string[] {
  return Object.keys(files).flatMap((name) => {
    if (!name.endsWith('.jsonl')) return [];
    try {
      readJournal(join(folder, name));
      return [];
    } catch (error) {
      if (!(error instanceof JournalBroken)) throw error;
      return [`${join(folder, name)}: ${error.message}`];
    }
  });
}

/** Copies the files of a backup to their places; none may exist there. */
export function placeFiles(from: string, to: string, files: FileDigests): void {
  makeFolder(to);
  for (const name of Object.keys(files)) {
    const draft = join(to, `${name}.restoring`);
    copyFileSync(join(from, name), draft);
    chmodSync(draft, 0o600);
    syncPath(draft);
    renameSync(draft, join(to, name));
  }
  syncPath(to);
}

interface ReadThrough {
  readonly rootHash: string;
  readonly secrets: BackupReport['secrets'];
  readonly missing: BackupReport['keys_missing'];
  readonly faults: readonly string[];
  readonly reach: readonly AddressReach[];
  readonly signed: ReadonlySet<string>;
}

async function readThrough(
  folder: string,
  scratch: string,
  data: NonNullable<Manifest['data']>,
  signer: Manifest['signer'],
  sealingKeys: SealingKeys | null,
): Promise<ReadThrough> {
  const dataDir = join(scratch, 'data');
  placeFiles(folder, dataDir, data.files);
  if (signer) placeFiles(join(folder, SIGNER_FOLDER), join(scratch, SIGNER_FOLDER), signer.files);
  // The journal is copied after the event log, so checkpoints signed in between cover more events than there are.
  const anchors = keptAnchors(join(scratch, SIGNER_FOLDER)).filter(({ size }) => size <= data.events);
  const reach = new Reach();
  const [signed, sealedUnder] = [new Set<string>(), new Set<string>()];
  const { fault, rootHash } = readAll(dataDir, anchors, (event) => {
    takeSigned(event, signed);
    for (const id of keyIdsWithin(event.data)) sealedUnder.add(id);
    return reach.take(event);
  });
  if (fault !== null)
    return { rootHash, faults: [fault], secrets: 'not tried: no key is set', missing: null, reach: [], signed };
  const secrets = await openedSecrets(dataDir, sealingKeys, data, sealedUnder);
  return { rootHash, ...secrets, reach: reach.found(), signed };
}

const signedForm = z.object({ journal: z.object({ hash: z.string() }).nullish() });

function takeSigned({ stream, data }: RecordedEvent, signed: Set<string>): void {
  if (!stream.startsWith(TREASURY_STREAMS)) return;
  const { journal } = signedForm.parse(JSON.parse(data));
  if (journal) signed.add(journal.hash);
}

function readAll(
  dataDir: string,
  anchors: readonly AuditAnchor[],
  take: (event: RecordedEvent) => string | null,
): { fault: string | null; rootHash: string } {
  const histories = new StreamHistories(() => new SpilledMap());
  const inspect = (event: RecordedEvent): string | null => histories.take(event) ?? take(event);
  const audit = new LogAudit({ dataDir, verifierKey: null, anchors, inspect });
  try {
    let step = audit.check();
    while (step === 'more') step = audit.check();
    return { fault: step === 'sound' ? null : step.fault, rootHash: audit.head(0).rootHash };
  } finally {
    histories.close();
    audit.close();
  }
}

/** Opened like a service would. Its end must be the one recorded when the backup was made. */
async function openedSecrets(
  dataDir: string,
  sealingKeys: SealingKeys | null,
  { events, chain }: NonNullable<Manifest['data']>,
  sealedUnder: ReadonlySet<string>,
): Promise<Pick<ReadThrough, 'secrets' | 'missing' | 'faults'>> {
  const sealKeys = sealingKeys?.['api-secrets'];
  const store = await openSqliteEventStore({ dataDir, readDamaged: true, ...(sealKeys && { sealKeys }) });
  try {
    if (store.refusal !== null) return { faults: [store.refusal], secrets: 'do not open', missing: null };
    const end = Number((await store.head()) ?? 0);
    const faults =
      end === events ? [] : [`the log holds ${end} events, not the ${events} of the manifest (chain ${chain})`];
    if (!sealingKeys) return { faults, secrets: 'not tried: no key is set', missing: null };
    const held = await withKeptKeys(store, sealingKeys);
    const ids = new Set(SEALED_KINDS.flatMap((kind) => held[kind]?.keys.map(({ id }) => id) ?? []));
    const missing = [...sealedUnder].filter((id) => !ids.has(id));
    const directory = new MerchantDirectory({ store, sealer: createSealer(held) });
    const fault = await directory.start().then(
      () => null,
      (error: unknown) => `the keys of the settings do not open what is sealed in the backup: ${messageOf(error)}`,
    );
    await directory.close();
    return fault === null
      ? { faults, secrets: 'open', missing }
      : { faults: [...faults, fault], secrets: 'do not open', missing };
  } finally {
    await store.close();
  }
}

/** Determines from the events how far addresses had been used. */
class Reach {
  readonly #unusedFrom = new Map<string, number>();
  readonly #leased = new Map<string, Omit<AddressReach, 'unusedFrom'>>();

  take(recorded: RecordedEvent): null {
    if (recorded.type === 'SessionCreated') {
      const { mode, paymentOptions } = dataOf(recorded, 'SessionCreated');
      for (const { network, derivationIndex } of paymentOptions) {
        const key = `${mode}/${addressFamilyOf(network)}`;
        this.#unusedFrom.set(key, Math.max(this.#unusedFrom.get(key) ?? 0, derivationIndex + 1));
      }
    }
    if (recorded.type === 'AddressRangeLeased') {
      const { mode, family, to } = dataOf(recorded, 'AddressRangeLeased');
      const key = `${mode}/${family}`;
      const before = this.#leased.get(key)?.leasedBelow ?? 0;
      this.#leased.set(key, { mode, family, leasedBelow: Math.max(before, to + 1) });
    }
    return null;
  }

  found(): AddressReach[] {
    return [...this.#leased].map(([key, { mode, family, leasedBelow }]) => ({
      mode,
      family,
      unusedFrom: this.#unusedFrom.get(key) ?? 0,
      leasedBelow,
    }));
  }
}
