import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Drill } from './drill.ts';
import type { DrillWorld } from './drill-world.ts';

/* What the machine and other programs on it do to the node. */

const RUN_MS = 120;
const FILE_GIGABYTES = 3;
const FEW_ADDRESSES = 30;

/** Repeats a step in the background until it is told to end. */
class Repeated {
  #running: Promise<void> = Promise.resolve();
  #ended = true;

  begin(step: () => Promise<void>): void {
    this.#ended = false;
    this.#running = (async () => {
      while (!this.#ended) await step();
    })();
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#running;
  }
}

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

const ledger = ({ node }: DrillWorld): string => join(node.dataDir, 'events.db');
const readModel = ({ node }: DrillWorld): string => join(node.dataDir, 'read-model.db');
const orders = (world: DrillWorld, count: number): Promise<unknown> => Promise.allSettled(Array.from({ length: count }, () => world.order()));

const starving = new Repeated();
export const starved: Drill = {
  alerts: ['QuittanceEventLoopSlow'],
  fault: 'the process gets no CPU for 0.8 s out of every second',
  cause: async ({ node }) =>
    starving.begin(async () => {
      node.signal('SIGSTOP');
      await sleep(800);
      node.signal('SIGCONT');
      await sleep(RUN_MS);
    }),
  end: async ({ node }) => {
    await starving.end();
    node.signal('SIGCONT');
  },
};

const locking = new Repeated();
export const ledgerSlow: Drill = {
  alerts: ['AppendsSlow', 'HttpSlow'],
  fault: "another program holds the ledger's lock for 1.5 s again and again",
  cause: async (world) =>
    locking.begin(async () => {
      await holdLock(ledger(world), 1_500).catch(() => undefined);
      await sleep(RUN_MS);
    }),
  during: (world) => orders(world, 4),
  end: () => locking.end(),
  after: (world) => Promise.all([orders(world, 4), sleep(500)]),
};

export const ledgerLocked: Drill = {
  alerts: ['AppendsFailing', 'QuittanceErrorsLogged'],
  fault: "another program holds the ledger's lock for longer than an append waits (5 s)",
  cause: async (world) => locking.begin(() => holdLock(ledger(world), 7_000).catch(() => undefined)),
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
  fault: 'a follower of the ledger hangs in its handler (a command of the drill)',
  cause: (world) => world.admin('drill.hang', { follower: 'pay-refunds', on: true }),
  during: (world) => Promise.all([orders(world, 1), sleep(300)]),
  end: (world) => world.admin('drill.hang', { follower: 'pay-refunds', on: false }),
};

const filler = (world: DrillWorld): string => join(world.folder, 'filler');
export const diskFull: Drill = {
  alerts: ['QuittanceDiskSpaceLow'],
  fault: `a file of ${FILE_GIGABYTES} GB takes the space that was left above the threshold`,
  cause: async (world) => execFileSync('fallocate', ['--length', `${FILE_GIGABYTES}GB`, filler(world)]),
  end: async (world) => rmSync(filler(world)),
};

export const unreadableEvents: Drill = {
  alerts: ['ProjectionParkedEvent', 'WebhookEventParked', 'MoneyFiguresIncomplete'],
  fault: 'a newer version wrote an event into the ledger, and one is damaged (commands of the drill)',
  cause: async (world) => {
    await world.admin('drill.append', { stream: `delivery-evt_${Date.now()}000000`, type: 'DeliveryPostponed', version: 1 });
    const session = await world.order();
    await world.admin('drill.append', { stream: `session-${session.id}`, type: 'SessionPaid', version: 1 });
  },
  end: async () => undefined,
};

export const killed: Drill = {
  alerts: ['QuittanceDown'],
  fault: 'the process is killed',
  cause: ({ node }) => node.end('SIGKILL'),
  end: (world) => world.node.start(world.settings()),
};

export const stopping: Drill = {
  alerts: ['QuittanceNotReady'],
  fault: 'the node is told to end while a request is still being sent',
  cause: async (world) => {
    const halfSent = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{"amount":')) });
    const url = `${world.node.facts.base_url}/api/v1/checkout/sessions/create`;
    const request = { method: 'POST', body: halfSent, duplex: 'half', headers: { 'content-type': 'application/json' } };
    void fetch(url, request as RequestInit).catch(() => undefined);
    await sleep(300);
    world.node.signal('SIGTERM');
  },
  end: async (world) => {
    await world.node.end('SIGTERM');
    await world.node.start(world.settings());
  },
};

export const restarting: Drill = {
  alerts: ['QuittanceRestarting'],
  fault: 'the process is killed and started again, over and over',
  cause: async () => undefined,
  during: async (world) => {
    await world.node.end('SIGKILL');
    await world.node.start(world.settings());
    await sleep(1_500);
  },
  end: async () => undefined,
};

export const addressesRunOut: Drill = {
  alerts: ['AddressStockLow', 'AddressPoolExhausted'],
  fault: `the exported pool holds ${FEW_ADDRESSES} addresses; afterwards a larger one is given`,
  cause: async (world) => {
    await world.node.end('SIGTERM');
    await world.node.start(world.settings(FEW_ADDRESSES));
  },
  end: async (world) => {
    await world.node.end('SIGTERM');
    await world.node.start(world.settings());
  },
};
