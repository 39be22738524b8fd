import { join } from 'node:path';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { openEmbedded } from '../../src/composition/storage/embedded.ts';
import type { Core } from '../../src/composition/core.ts';
import { startService } from '../../src/composition/service.ts';
import { readConfig } from '../../src/config.ts';
import { createLogger } from '../../src/observability/logger.ts';
import type { CheckpointSigner } from '../../src/ports/event-log/audit.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { EventStore } from '../../src/ports/event-log/event-store.ts';
import type { ReadModel } from '../../src/ports/read-model/read-model.ts';
import { AuditKey } from '../../src/signer/audit/key.ts';
import { AuditSigner } from '../../src/signer/audit/signer.ts';
import { MASTER_KEY_TEXT, SEALING_KEYS } from './test-keys.ts';

export interface ServiceInProcess {
  readonly core: Core;
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly baseUrl: string;
  readonly opsUrl: string;
  readonly readOnly: () => string | null;
  /** Every line it logged. */
  readonly logged: readonly string[];
  close(): Promise<void>;
}

const ROLES = { api: true, worker: true, signer: true };
const BASE_36 = 36;

/**
 * The service as the embedded profile composes it, in this process: no chain, no payout, one family of addresses, a
 * signer of checkpoints unless told otherwise.
 */
export async function startServiceInProcess(
  dataDir: string,
  { signs = true, settings = {} }: { readonly signs?: boolean; readonly settings?: Record<string, string> } = {},
): Promise<ServiceInProcess> {
  const config = readConfig({
    DATA_DIR: dataDir,
    HOST: '127.0.0.1',
    PORT: '0',
    OPS_PORT: '0',
    MASTER_KEY: MASTER_KEY_TEXT,
    AUDIT_CHECKPOINT_SECONDS: '1',
    ...settings,
  });
  const logged: string[] = [];
  const log = createLogger('info', { write: (line) => void logged.push(line) });
  const onFatal = (error: Error): void => void logged.push(`fatal: ${error.message}`);
  const storage = await openEmbedded(dataDir, {
    clock: systemClock,
    random: nodeRandom,
    log,
    sealingKeys: SEALING_KEYS,
    onFatal,
    readDamaged: true,
    archiveAfterDays: config.LOOK_UP_ARCHIVE_AFTER_DAYS,
  });
  const service = await startService({
    config,
    roles: ROLES,
    storage,
    sealingKeys: SEALING_KEYS,
    clock: systemClock,
    random: nodeRandom,
    log,
    derivers: [
      {
        family: 'evm',
        mode: 'test',
        capacity: 10_000,
        derive: async (from, count) =>
          Array.from({ length: count }, (_, index) => `0x${(from + index).toString(BASE_36).padStart(40, '0')}`),
      },
    ],
    chains: [],
    networks: () => [],
    contractChecks: [],
    rateProviders: ['static'],
    webhookRules: { allowInsecure: true, ownHosts: [] },
    payouts: null,
    checkpointSigner: signs ? signerOf(dataDir) : null,
    sandbox: false,
    testWallet: null,
  });
  return { ...service, store: storage.store, readModel: storage.readModel, logged };
}

/** The memory of a signer, in a folder beside the data. */
export const auditSignerOf = (dataDir: string): AuditSigner =>
  AuditSigner.open(join(dataDir, '..', 'signer'), new AuditKey(Buffer.alloc(64, 7)));

function signerOf(dataDir: string): CheckpointSigner {
  const signer = auditSignerOf(dataDir);
  return { auditIdentity: async () => signer.identity(), signCheckpoint: async (request) => signer.sign(request) };
}
