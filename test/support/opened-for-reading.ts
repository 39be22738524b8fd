import { join } from 'node:path';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { LogAudit } from '../../src/adapters/sqlite/event-log/log-audit.ts';
import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { openSqlitePersonalKeys } from '../../src/adapters/sqlite/event-log/personal-keys.ts';
import { openSqliteReadModel } from '../../src/adapters/sqlite/read-model/read-model.ts';
import { SpilledMap } from '../../src/adapters/sqlite/read-model/spilled-map.ts';
import { missingFrom } from '../../src/composition/audit/audit.ts';
import type { Core } from '../../src/composition/core.ts';
import { startOfflineCore } from '../../src/composition/commands/offline.ts';
import { standingProjections } from '../../src/composition/storage/reading-service.ts';
import { followsFiles } from '../../src/look-ups/thread.ts';
import { readingStore } from '../../src/runtime/event-log/reading-store.ts';
import { readConfig } from '../../src/config.ts';
import { StreamHistories } from '../../src/features/audit/replay.ts';
import { createLogger } from '../../src/observability/logger.ts';
import type { EventStore } from '../../src/ports/event-log/event-store.ts';
import { parseMasterKeys } from '../../src/runtime/cryptography/sealing.ts';
import { keptAnchors } from '../../src/signer/audit/signer.ts';
import { MASTER_KEY_TEXT, SEAL_KEYS } from './test-keys.ts';

export interface OpenedForReading {
  readonly damage: string | null;
  readonly store: EventStore;
  readonly core: Core;
  close(): Promise<void>;
}

/**
 * A data directory opened as a start does, in this thread and without what listens: the check, and then all that
 * follows the log in memory.
 */
export async function openForReading(dataDir: string): Promise<OpenedForReading> {
  const log = createLogger('silent');
  const own = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS, readDamaged: true });
  const readModel = await openSqliteReadModel({ dataDir });
  const personalKeys = openSqlitePersonalKeys({ dataDir, random: nodeRandom });
  const damage = own.refusal ?? (await missingFrom(dataDir, own, readModel, null)) ?? faultIn(dataDir);
  const store = damage === null ? own : readingStore(own, damage, log);
  const core = await startOfflineCore(
    readConfig({ DATA_DIR: dataDir, MASTER_KEY: MASTER_KEY_TEXT }),
    {
      ...{ store, readModel, personalKeys, soleWriter: true, readOnly: damage !== null },
      addressFilter: null,
      projections: await standingProjections(readModel, followsFiles(dataDir)),
      sealingKeys: parseMasterKeys(MASTER_KEY_TEXT),
    },
    log,
  );
  return {
    ...{ damage, store, core },
    close: async () => {
      await core.close();
      await personalKeys.close();
      await readModel.close();
      await own.close();
    },
  };
}

function faultIn(dataDir: string): string | null {
  const histories = new StreamHistories(() => new SpilledMap());
  const audit = new LogAudit({
    dataDir,
    verifierKey: null,
    anchors: keptAnchors(join(dataDir, '../signer')),
    inspect: (event) => histories.take(event),
  });
  try {
    let step = audit.check();
    while (step === 'more') step = audit.check();
    return step === 'sound' ? null : step.fault;
  } finally {
    histories.close();
    audit.close();
  }
}
