import { least } from '../../domain/money/money.ts';
import type { EvmNode, EvmOutcome } from './evm-node.ts';
import type { FacadeReceipt } from './journal.ts';
import { evmAddressOf, hexText } from './tron-codec.ts';
import type { Resources } from './resources.ts';
import { ACTIVATION_NET_SUN, ACTIVATION_SUN, SUN_PER_BYTE, SUN_PER_ENERGY } from './transaction-rules.ts';
import type { RawTransaction, TronContract } from './tron-transaction.ts';

/** Plenty for any sandbox contract, and below the block's gas. */
const MAX_ENERGY = 100_000_000n;

/**
 * Runs an accepted transaction on the EVM and charges its owner for what its own resources do not cover; energy is the
 * EVM's gas without the intrinsic cost.
 */
export async function runTransaction(
  evm: EvmNode,
  { raw, txId, bandwidth, own }: { raw: RawTransaction; txId: string; bandwidth: bigint; own: Resources },
): Promise<FacadeReceipt> {
  const owner = evmAddressOf(raw.contract.owner);
  // It is paid as a whole or not at all.
  const net = bandwidth <= own.bandwidth ? { usage: bandwidth, fee: 0n } : { usage: 0n, fee: bandwidth * SUN_PER_BYTE };
  if (raw.contract.type === 'TransferContract') {
    const isNew = !(await evm.isAccount(evmAddressOf(raw.contract.to)));
    await evm.execute({
      from: owner,
      to: evmAddressOf(raw.contract.to),
      data: '0x',
      value: raw.contract.amountSun,
      executionGas: 0n,
    });
    const paid = isNew ? { usage: 0n, fee: ACTIVATION_NET_SUN } : net;
    const fee = paid.fee + (isNew ? ACTIVATION_SUN : 0n);
    await charge(evm, owner, fee);
    const receipt = named({ net_usage: paid.usage, net_fee: paid.fee });
    return { id: txId, ...named({ fee }), contractResult: [''], receipt };
  }
  const affordable = (await evm.balanceOf(owner)) - net.fee - raw.contract.callValueSun;
  const energyLimit = [own.energy + affordable / SUN_PER_ENERGY, raw.feeLimitSun / SUN_PER_ENERGY].reduce(
    least,
    MAX_ENERGY,
  );
  const outcome = await evm.execute({
    from: owner,
    to: evmAddressOf(raw.contract.contract),
    data: `0x${raw.contract.data}`,
    value: raw.contract.callValueSun,
    executionGas: energyLimit,
  });
  const staked = least(own.energy, outcome.executionGas);
  const energy = { usage: staked, fee: (outcome.executionGas - staked) * SUN_PER_ENERGY };
  await charge(evm, owner, net.fee + energy.fee);
  return contractReceipt(txId, raw.contract, outcome, { net, energy });
}

/** Protocol buffers leave zeros out. */
const named = (numbers: Readonly<Record<string, bigint>>): Record<string, number> =>
  Object.fromEntries(Object.entries(numbers).flatMap(([name, value]) => (value > 0n ? [[name, Number(value)]] : [])));

async function charge(evm: EvmNode, owner: string, sun: bigint): Promise<void> {
  await evm.setBalance(owner, (await evm.balanceOf(owner)) - sun);
}

function contractReceipt(
  txId: string,
  contract: Extract<TronContract, { type: 'TriggerSmartContract' }>,
  outcome: EvmOutcome,
  { net, energy }: Readonly<Record<'net' | 'energy', { readonly usage: bigint; readonly fee: bigint }>>,
): FacadeReceipt {
  const result = outcome.ok ? 'SUCCESS' : outcome.ranOutOfGas ? 'OUT_OF_ENERGY' : 'REVERT';
  const used = {
    ...{ energy_usage: energy.usage, energy_fee: energy.fee, energy_usage_total: outcome.executionGas },
    ...{ net_usage: net.usage, net_fee: net.fee },
  };
  const receipt = { ...named(used), result };
  const fee = named({ fee: net.fee + energy.fee });
  const common = { id: txId, ...fee, contract_address: contract.contract, receipt };
  if (!outcome.ok) {
    const message = result === 'REVERT' ? 'REVERT opcode executed' : 'Not enough energy for the operation executing';
    return {
      ...common,
      contractResult: [result === 'REVERT' ? outcome.output : ''],
      result: 'FAILED',
      resMessage: hexText(message),
    };
  }
  const log = outcome.logs.map(({ address, topics, data }) => ({
    address: address.slice(2).toLowerCase(),
    topics: topics.map((topic) => topic.slice(2)),
    data: data.slice(2),
  }));
  return { ...common, contractResult: [outcome.output], ...(log.length === 0 ? {} : { log }) };
}
