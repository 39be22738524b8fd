import { setTimeout as sleep } from 'node:timers/promises';
import { down, lying, type Fault } from '../support/fault-proxy.ts';
import { eventually } from '../support/running-sandbox.ts';
import type { Drill } from './drill.ts';
import { SECOND_SOURCE_FROM, type DrillWorld } from './drill-world.ts';

/* What chains and their providers do to the service; all of it on Ethereum. */

const BLOCKS = 2_200;
/** A reorganised chain is longer than the one before. */
const MORE_BLOCKS = 3;
const STANDS_STILL_MS = 45_000;
const ethereumGauge = async (world: DrillWorld, name: string): Promise<number> =>
  (await world.prometheus.query(`${name}{network="ethereum"}`))[0] ?? -1;

/** Knows where the chain ends, and nothing of what is in it. */
const withoutHistory: Fault = ({ method, params }) => {
  if (method === 'eth_getLogs') return { error: { code: -32_000, message: 'missing trie node' } };
  return method === 'eth_getBlockByNumber' && String(params[0]).startsWith('0x') ? { result: null } : undefined;
};

export const historyLost: Drill = {
  alerts: ['ChainNotRead', 'ChainScanGap', 'ChainCoverageBehind'],
  fault: `both providers lose the history of the chain, which grows by ${BLOCKS} blocks`,
  cause: async ({ ethereum }) => {
    for (const provider of [ethereum.first, ethereum.second]) provider.play(withoutHistory);
    for (let count = 0; count < BLOCKS; count += 1) await ethereum.block();
  },
  end: async ({ ethereum }) => ethereum.heal(),
};

export const chainStandsStill: Drill = {
  alerts: ['PaymentsSlow', 'ChainNotRead'],
  fault: `the chain makes no block for ${STANDS_STILL_MS / 1000} s after a payment`,
  cause: async (world) => {
    const session = await world.order();
    await world.transfer(session, 'ethereum');
    await world.ethereum.block();
    await world.ethereum.pause(true);
    await sleep(STANDS_STILL_MS);
    await world.ethereum.pause(false);
  },
  end: async () => undefined,
};

export const providersDisagree: Drill = {
  alerts: ['ChainAnomaly', 'RpcProviderFailing'],
  fault: `the second provider is down when a payment of more than ${SECOND_SOURCE_FROM} needs it`,
  cause: async (world) => {
    world.ethereum.second.play(down());
    await world.transfer(await world.order('600.00'), 'ethereum');
  },
  end: async ({ ethereum }) => ethereum.heal(),
};

export const secondOfAnotherChain: Drill = {
  alerts: ['ProviderExcluded', 'SecondSourceMissing'],
  fault: 'the second provider serves another chain when the node starts; afterwards it serves the right one',
  cause: async (world) => {
    world.ethereum.second.play(lying('eth_chainId', () => '0x1'));
    await world.restart();
  },
  end: async ({ ethereum }) => ethereum.heal(),
};

export const oneProvider: Drill = {
  alerts: ['SingleProvider'],
  fault: 'the node is started with one provider; afterwards with two',
  cause: (world) => world.restart(world.settings({ secondProvider: false })),
  end: (world) => world.restart(),
};

export const chainTakesBack: Drill = {
  alerts: ['ChainReorgBeyondFinality', 'DepositRevertedAfterFinal'],
  fault: 'the chain replaces final blocks by others without the payment in them',
  cause: async (world) => {
    const { ethereum } = world;
    const session = await world.order();
    const txHash = await world.transfer(session, 'ethereum');
    await eventually('the payment', () => world.isPaid(session), 60_000);
    const receipt = await ethereum.node.rpc<{ blockNumber: string }>('eth_getTransactionReceipt', [txHash]);
    const block = Number(receipt.blockNumber);
    await eventually(
      'the evidence',
      async () => (await ethereumGauge(world, 'quittance_chain_covered_block')) > block,
      60_000,
    );
    await ethereum.pause(true);
    const head = Number(await ethereum.node.rpc<string>('eth_blockNumber', []));
    // The service must not look in between: of a local chain that is shorter for a moment it believes that it was
    // restored.
    world.node.signal('SIGSTOP');
    await ethereum.node.rpc('anvil_reorg', [head - block + 1, []]);
    await ethereum.node.rpc('anvil_dropAllTransactions', []);
    for (let count = 0; count < MORE_BLOCKS; count += 1) await ethereum.block();
    world.node.signal('SIGCONT');
    await ethereum.pause(false);
  },
  end: async () => undefined,
};
