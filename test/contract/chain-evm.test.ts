import { createEvmChain } from '../../src/adapters/evm/chain.ts';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import { AddressIndex } from '../../src/features/addresses/address-index.ts';
import { Anvil, localSettings } from '../support/anvil.ts';
import { sessionId } from '../e2e/evm-watch-world.ts';
import { describeChain, type ChainBench } from './chain.contract.ts';

async function open(decimals: number, change: Parameters<typeof localSettings>[1]): Promise<ChainBench> {
  const anvil = await Anvil.start({ chainId: Number(change?.chainId ?? 31337) });
  try {
    const token = await anvil.deployToken(decimals);
    const chain = createEvmChain({
      settings: localSettings(token, change, decimals),
      pool: createRpcPool({ network: 'ethereum', urls: [anvil.url] }),
      initialBlocks: 2,
    });
    const ours = [anvil.account(5), anvil.account(6)] as const;
    const index = new AddressIndex('evm');
    for (const address of ours) index.add(address, sessionId('a'));
    return {
      chain,
      ours,
      isOurs: index.isOurs,
      other: anvil.account(7),
      unused: '0x00000000000000000000000000000000000Fa11e',
      payer: anvil.account(0),
      pay: (to, units) => anvil.pay(token, to, units),
      mine: (blocks) => anvil.mine(blocks),
      close: async () => {
        await chain.close();
        await anvil.stop();
      },
    };
  } catch (error) {
    await anvil.stop();
    throw error;
  }
}

describeChain('Ethereum', () => open(6, {}));
describeChain('BSC', () => open(18, { network: 'bsc', chainId: '31338' }));
