import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { LEDGER_SUMS_TABLE } from '../../projections/ledger/rows.ts';
import { SESSIONS_TABLE } from '../../projections/sessions/session-row.ts';
import { makeBackup } from '../../src/backup/make.ts';
import { LAST_BACKUP } from '../../src/runtime/files/backup-mark.ts';
import type { Drill } from './drill.ts';
import type { DrillWorld } from './drill-world.ts';
import { Repeated } from './repeated.ts';

/* What other programs do to the files of the event log, and what may be wrong inside it. */

const RUN_MS = 120;
const DAY_MS = 86_400_000;

/** Another program holds the write lock of a database of the service for so long. */
async function holdLock(file: string, ms: number): Promise<void> {
  const database = new DatabaseSync(file, { timeout: 2_000 });
  try {
    database.exec('BEGIN IMMEDIATE');
    await sleep(ms);
    database.exec('ROLLBACK');
  } finally {
    database.close();
  }
}

const eventLogFile = ({ node }: DrillWorld): string => join(node.dataDir, 'events.db');
const readModel = ({ node }: DrillWorld): string => join(node.dataDir, 'read-model.db');
const orders = (world: DrillWorld, count: number): Promise<unknown> =>
  Promise.allSettled(Array.from({ length: count }, () => world.order()));

const signerDirectory = ({ node }: DrillWorld): string => `${node.dataDir}-signer`;
function noteBackup(world: DrillWorld, atMs: number): void {
  for (const directory of [world.node.dataDir, signerDirectory(world)])
    writeFileSync(join(directory, LAST_BACKUP), JSON.stringify({ made_at: new Date(atMs).toISOString() }));
}

export const backupOld: Drill = {
  alerts: ['BackupOld'],
  fault: 'the timer makes no backup for three days, neither of the data nor of the signer; afterwards one is made',
  cause: async (world) => noteBackup(world, Date.now() - 3 * DAY_MS),
  end: async (world) => {
    const folder = mkdtempSync(join(tmpdir(), 'quittance-drill-backup-'));
    const places = {
      dataDir: world.node.dataDir,
      signerDirectory: signerDirectory(world),
      isSignerElsewhere: false,
    };
    await makeBackup(places, folder, undefined, Date.now());
    rmSync(folder, { recursive: true });
  },
  // A day of an age lasts twenty seconds here: one of tomorrow grows old for no other drill.
  after: async (world) => noteBackup(world, Date.now() + DAY_MS),
};

export const shippingStopped: Drill = {
  alerts: ['LogShippingBehind'],
  fault: 'the destination of log shipping accepts nothing; afterwards it does again',
  cause: async ({ shippedTo }) => {
    renameSync(join(shippedTo, 'log'), join(shippedTo, 'away'));
    writeFileSync(join(shippedTo, 'log'), '');
  },
  during: (world) => orders(world, 1),
  end: async ({ shippedTo }) => {
    rmSync(join(shippedTo, 'log'));
    renameSync(join(shippedTo, 'away'), join(shippedTo, 'log'));
  },
};

const locking = new Repeated();
export const eventLogSlow: Drill = {
  alerts: ['AppendsSlow', 'HttpSlow'],
  fault: "another program holds the event log's lock for 1.5 s again and again",
  cause: async (world) =>
    locking.begin(async () => {
      await holdLock(eventLogFile(world), 1_500).catch(() => undefined);
      await sleep(RUN_MS);
    }),
  during: (world) => orders(world, 4),
  end: () => locking.end(),
  after: (world) => Promise.all([orders(world, 4), sleep(500)]),
};

export const eventLogLocked: Drill = {
  alerts: ['AppendsFailing', 'QuittanceErrorsLogged'],
  fault: "another program holds the event log's lock for longer than an append waits (5 s)",
  cause: async (world) => locking.begin(() => holdLock(eventLogFile(world), 7_000).catch(() => undefined)),
  during: (world) => orders(world, 12),
  end: () => locking.end(),
};

export const listsLocked: Drill = {
  alerts: ['ProjectionBehind'],
  fault: "another program holds the read model's lock",
  cause: async (world) => locking.begin(() => holdLock(readModel(world), 12_000).catch(() => undefined)),
  during: (world) => Promise.all([orders(world, 1), sleep(300)]),
  end: () => locking.end(),
};

export const followerHangs: Drill = {
  alerts: ['SubscriptionBehind'],
  fault: 'a follower of the event log hangs in its handler (a command of the drill)',
  cause: (world) => world.admin('drill.hang', { follower: 'pay-refunds', on: true }),
  during: (world) => Promise.all([orders(world, 1), sleep(300)]),
  end: (world) => world.admin('drill.hang', { follower: 'pay-refunds', on: false }),
};

export const unreadableEvents: Drill = {
  alerts: ['ProjectionParkedEvent', 'WebhookEventParked', 'MoneyFiguresIncomplete'],
  fault: 'a newer version wrote an event to the event log, and another event is damaged (commands of the drill)',
  cause: async (world) => {
    await world.admin('drill.append', {
      stream: `delivery-evt_${Date.now()}000000`,
      type: 'DeliveryPostponed',
      version: 1,
      data: '{}',
    });
    const session = await world.order();
    await world.admin('drill.append', {
      stream: `session-${session.id}`,
      type: 'DepositConfirmed',
      version: 1,
      data: '{"depositKey":7}',
    });
  },
  end: async () => undefined,
};

export const signerFrozen: Drill = {
  alerts: ['AuditCheckpointOld'],
  fault: 'the signer hangs, so that no checkpoint is signed',
  cause: async ({ node }) => process.kill(node.facts.signer_pid, 'SIGSTOP'),
  during: (world) => Promise.all([orders(world, 1), sleep(1_000)]),
  end: async ({ node }) => process.kill(node.facts.signer_pid, 'SIGCONT'),
};

/** Changes the time of an old event by a millisecond; the triggers that forbid it are put back. */
function shiftEvent(world: DrillWorld, byMs: number): void {
  const database = new DatabaseSync(eventLogFile(world));
  const trigger = database.prepare("SELECT sql FROM sqlite_master WHERE name = 'events_are_never_updated'").get() as {
    sql: string;
  };
  database.exec(
    `BEGIN IMMEDIATE; DROP TRIGGER events_are_never_updated; UPDATE events SET at_ms = at_ms + ${byMs} WHERE position = 3; ${trigger.sql}; COMMIT`,
  );
  database.close();
}

export const historyChanged: Drill = {
  alerts: ['EventLogReadOnly'],
  fault: "somebody changes an old event in the event log's file; afterwards it is restored",
  cause: async (world) => {
    await world.node.end('SIGTERM');
    shiftEvent(world, 1);
    await world.node.start(world.settings());
  },
  end: async (world) => {
    await world.node.end('SIGTERM');
    shiftEvent(world, -1);
    await world.node.start(world.settings());
  },
};

export const checkDies: Drill = {
  alerts: ['EventLogCheckSlow'],
  fault: 'the thread that checks the event log dies (a command of the drill); a restart brings it back',
  cause: (world) => world.admin('drill.end-audit', {}),
  end: (world) => world.restart(),
};

/** Another program writes into the oldest row of a table of the read model, or puts it back. */
class ChangedRow {
  readonly #table: string;
  readonly #change: string;
  #before = '';

  constructor(table: string, change: string) {
    this.#table = table;
    this.#change = change;
  }

  change(world: DrillWorld): void {
    this.#onRow(world, (database, rows) => {
      const oldest = database.prepare(`SELECT row FROM ${rows} ORDER BY id LIMIT 1`).get();
      if (this.#before === '' && oldest) this.#before = String(oldest['row']);
      database.exec(`UPDATE ${rows} SET row = json_set(row, ${this.#change}) WHERE id = (SELECT min(id) FROM ${rows})`);
    });
  }

  putBack(world: DrillWorld): void {
    this.#onRow(world, (database, rows) =>
      database.prepare(`UPDATE ${rows} SET row = ? WHERE id = (SELECT min(id) FROM ${rows})`).run(this.#before),
    );
    this.#before = '';
  }

  #onRow(world: DrillWorld, act: (database: DatabaseSync, rows: string) => void): void {
    const database = new DatabaseSync(readModel(world), { timeout: 5_000 });
    const table = database.prepare('SELECT id FROM row_tables WHERE name = ?').get(this.#table);
    if (table) act(database, `rows_${String(table['id'])}`);
    database.close();
  }
}

const listed = new ChangedRow(SESSIONS_TABLE, "'$.taxAmount', '7.77'");
export const rowsChanged: Drill = {
  alerts: ['ProjectionDrift'],
  fault: "while the node is down, another program changes a session's row in a list; afterwards it is restored",
  cause: async (world) => {
    await world.paidOrder('bsc');
    await world.node.end('SIGTERM');
    listed.change(world);
    await world.node.start(world.settings());
  },
  end: async (world) => listed.putBack(world),
};

const booked = new ChangedRow(LEDGER_SUMS_TABLE, "'$.sum', '1.00'");
export const booksChanged: Drill = {
  alerts: ['LedgerImbalance'],
  fault: 'another program changes a sum in the books; afterwards it is restored',
  cause: (world) => world.paidOrder('bsc'),
  // The entries of the payment may come later, and write the sum again.
  during: async (world) => booked.change(world),
  end: async (world) => booked.putBack(world),
};
