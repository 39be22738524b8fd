import type { EvmNode, EvmOutcome } from './evm-node.ts';
import type { FacadeReceipt } from './journal.ts';
import { evmAddressOf, hexText } from './tron-codec.ts';
import { ACTIVATION_NET_SUN, ACTIVATION_SUN, SUN_PER_ENERGY, bandwidthFee } from './transaction-rules.ts';
import type { RawTransaction, TronContract } from './tron-transaction.ts';

/** Plenty for any sandbox contract, and below the block's gas. */
const MAX_ENERGY = 100_000_000n;

/**
 * Runs an accepted transaction on the EVM and charges its owner; energy is the EVM's gas without the intrinsic cost.
 */
export async function runTransaction(
  evm: EvmNode,
  raw: RawTransaction,
  txId: string,
  sizeBytes: number,
): Promise<FacadeReceipt> {
  const owner = evmAddressOf(raw.contract.owner);
  const netFee = bandwidthFee(sizeBytes);
  const spendable = (await evm.balanceOf(owner)) - netFee;
  if (raw.contract.type === 'TransferContract') {
    const isNew = !(await evm.isAccount(evmAddressOf(raw.contract.to)));
    await evm.execute({
      from: owner,
      to: evmAddressOf(raw.contract.to),
      data: '0x',
      value: raw.contract.amountSun,
      executionGas: 0n,
    });
    const bandwidthSun = isNew ? ACTIVATION_NET_SUN : netFee;
    const fee = bandwidthSun + (isNew ? ACTIVATION_SUN : 0n);
    await charge(evm, owner, fee);
    return { id: txId, fee: Number(fee), contractResult: [''], receipt: { net_fee: Number(bandwidthSun) } };
  }
  const affordable = spendable - raw.contract.callValueSun;
  const limit = raw.feeLimitSun < affordable ? raw.feeLimitSun : affordable;
  const energyLimit = limit / SUN_PER_ENERGY < MAX_ENERGY ? limit / SUN_PER_ENERGY : MAX_ENERGY;
  const outcome = await evm.execute({
    from: owner,
    to: evmAddressOf(raw.contract.contract),
    data: `0x${raw.contract.data}`,
    value: raw.contract.callValueSun,
    executionGas: energyLimit,
  });
  const energyFee = outcome.executionGas * SUN_PER_ENERGY;
  await charge(evm, owner, netFee + energyFee);
  return contractReceipt(txId, raw.contract, outcome, { netFee, energyFee });
}

async function charge(evm: EvmNode, owner: string, sun: bigint): Promise<void> {
  await evm.setBalance(owner, (await evm.balanceOf(owner)) - sun);
}

function contractReceipt(
  txId: string,
  contract: Extract<TronContract, { type: 'TriggerSmartContract' }>,
  outcome: EvmOutcome,
  fees: { readonly netFee: bigint; readonly energyFee: bigint },
): FacadeReceipt {
  const result = outcome.ok ? 'SUCCESS' : outcome.ranOutOfGas ? 'OUT_OF_ENERGY' : 'REVERT';
  const receipt = {
    energy_fee: Number(fees.energyFee),
    energy_usage_total: Number(outcome.executionGas),
    net_fee: Number(fees.netFee),
    result,
  };
  const common = { id: txId, fee: Number(fees.netFee + fees.energyFee), contract_address: contract.contract, receipt };
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
