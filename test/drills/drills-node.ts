import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Drill } from './drill.ts';
import type { DrillWorld } from './drill-world.ts';
import { Repeated } from './repeated.ts';

/* What the machine and other programs on it do to the node. */

const RUN_MS = 120;
const FILE_GIGABYTES = 3;
const FEW_ADDRESSES = 30;

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

const filler = (world: DrillWorld): string => join(world.folder, 'filler');
export const diskFull: Drill = {
  alerts: ['QuittanceDiskSpaceLow'],
  fault: `a file of ${FILE_GIGABYTES} GB takes the space that was left above the threshold`,
  cause: async (world) => execFileSync('fallocate', ['--length', `${FILE_GIGABYTES}GB`, filler(world)]),
  end: async (world) => rmSync(filler(world)),
};

export const killed: Drill = {
  alerts: ['QuittanceDown'],
  fault: 'the process is killed',
  cause: ({ node }) => node.end('SIGKILL'),
  end: (world) => world.node.start(world.settings()),
};

export const stopping: Drill = {
  alerts: ['QuittanceNotReady'],
  fault: 'the node receives SIGTERM while a request is still being sent',
  cause: async (world) => {
    const halfSent = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"amount":')),
    });
    const url = `${world.node.facts.base_url}/api/v1/checkout/sessions/create`;
    const request = { method: 'POST', body: halfSent, duplex: 'half', headers: { 'content-type': 'application/json' } };
    void fetch(url, request as RequestInit).catch(() => undefined);
    await sleep(300);
    world.node.signal('SIGTERM');
  },
  end: (world) => world.restart(),
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
  fault: `the exported pool holds ${FEW_ADDRESSES} addresses; afterwards it is replaced by a larger one`,
  cause: (world) => world.restart(world.settings({ poolSize: FEW_ADDRESSES })),
  end: (world) => world.restart(),
};

export const walletOfAnother: Drill = {
  alerts: ['AddressesWithheld'],
  fault: "the extended public key belongs to another wallet than the signer's; afterwards to the signer's",
  cause: (world) => world.restart(world.settings({ foreignWallet: true })),
  end: (world) => world.restart(),
};
