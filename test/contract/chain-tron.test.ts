import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import { createTronChain } from '../../src/adapters/tron/chain.ts';
import { formatAmount, fromTokenUnits } from '../../src/domain/money/money.ts';
import { AddressIndex } from '../../src/features/addresses/address-index.ts';
import { startTronFacade } from '../../src/sandbox/tron-facade/start-tron-facade.ts';
import { sessionId } from '../e2e/evm-watch-world.ts';
import { describeChain } from './chain.contract.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describeChain('TRON', async () => {
  const directory = temporaryFolder('tron');
  const sandbox = await startTronFacade({ directory, manual: true });
  if ('reason' in sandbox) throw new Error(sandbox.reason);
  const chain = createTronChain({
    settings: sandbox.settings,
    pool: createRpcPool({ network: 'tron', urls: [sandbox.rpcUrl] }),
  });
  const ours = ['TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'] as const;
  const index = new AddressIndex('tron');
  for (const address of ours) index.add(address, sessionId('a'));
  return {
    chain,
    ours,
    isOurs: index.isOurs,
    other: 'TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8',
    unused: 'TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7',
    payer: sandbox.addressOf('first'),
    pay: async (to, units) =>
      (await sandbox.pay({ coin: 'USDT', to, amount: formatAmount(fromTokenUnits(units, 6)) })).txHash,
    mine: async (blocks) => sandbox.mine(blocks),
    close: async () => {
      await chain.close();
      await sandbox.close();
    },
  };
});
