import artefacts from './contracts/sandbox-trc20.json' with { type: 'json' };
import { intrinsicGas, quantity } from './evm-node.ts';
import type { FacadeChain } from './chain.ts';
import type { FacadeBlock } from './block.ts';
import { MAX_FEE_LIMIT_SUN, SUN_PER_BYTE, SUN_PER_ENERGY } from './transaction-rules.ts';
import { evmAddressOf, hexText } from './tron-codec.ts';
import { encodeRaw, rawFromJson, rawToJson, transactionId } from './tron-transaction.ts';
import type { RawTransaction, TronContract } from './tron-transaction.ts';
import { addressIn, BadRequest, idIn, isVisible, numberIn, stringIn, textIn, type Body } from './wallet-body.ts';
import { blockJson, infoJson, transactionJson, tronAbiEntry, shown } from './wallet-json.ts';
import { id } from 'ethers';
import { must } from '../../domain/values/must.ts';

type Answer = Readonly<Record<string, unknown>> | readonly unknown[];

const LIFETIME_MS = 60_000;
const DEFAULT_FEE_LIMIT_SUN = 0;
const MAX_RANGE_BLOCKS = 100;
const CALL_GAS = 30_000_000n;
const OUT_OF_TIME =
  "class org.tron.core.vm.program.Program$OutOfTimeException : CPU timeout for 'PUSH2' operation executing";

const refused = (code: string, message: string): Answer => ({ result: { code, message: hexText(message) } });

/**
 * The calls of `/wallet` and `/walletsolidity` that wallets and services make (developers.tron.network), answered from
 * the facade's chain. `limit` is the newest block that the caller may see.
 */
export async function answerCall(chain: FacadeChain, solid: boolean, call: string, body: Body): Promise<Answer | null> {
  const limit = solid ? chain.solidified : chain.clock.head();
  const read = readCalls[call];
  if (read !== undefined) return read(chain, body, limit);
  const compute = computeCalls[call];
  if (compute !== undefined) return compute(chain, body);
  const write = solid ? undefined : writeCalls[call];
  return write === undefined ? null : write(chain, body);
}

const readCalls: Readonly<Record<string, (chain: FacadeChain, body: Body, limit: number) => Answer>> = {
  getnowblock: (chain, body, limit) => blockJson(must(chain.block(limit)), true, isVisible(body)),
  getblock: (chain, body, limit) => {
    const block =
      body['id_or_num'] === undefined ? chain.block(limit) : findBlock(chain, stringIn(body['id_or_num']), limit);
    return block === null
      ? {}
      : blockJson(block, body['detail'] === true || body['detail'] === 'true', isVisible(body));
  },
  getblockbynum: (chain, body, limit) => {
    const number = numberIn(body, 'num');
    const block = number > limit ? null : chain.block(number);
    return block === null ? {} : blockJson(block, true, isVisible(body));
  },
  getblockbyid: (chain, body, limit) => {
    const block = findBlock(chain, textIn(body, 'value'), limit);
    return block === null ? {} : blockJson(block, true, isVisible(body));
  },
  getblockbylimitnext: (chain, body, limit) => {
    const start = numberIn(body, 'startNum');
    if (numberIn(body, 'endNum') - start > MAX_RANGE_BLOCKS) return {};
    const end = Math.min(numberIn(body, 'endNum'), limit + 1);
    return {
      block: Array.from({ length: Math.max(0, end - start) }, (_, offset) =>
        blockJson(must(chain.block(start + offset)), true, isVisible(body)),
      ),
    };
  },
  gettransactioninfobyblocknum: (chain, body, limit) => {
    const number = numberIn(body, 'num');
    if (number === 0) return {};
    const block = number > limit ? null : chain.block(number);
    return block === null ? [] : block.transactions.map((sealed) => infoJson(sealed, block.timeMs, isVisible(body)));
  },
  gettransactioninfobyid: (chain, body, limit) => {
    const sealed = chain.transaction(idIn(body));
    return sealed === null || sealed.blockNumber > limit
      ? {}
      : infoJson(sealed, chain.clock.timeMsOf(sealed.blockNumber), isVisible(body));
  },
  gettransactionbyid: (chain, body, limit) => {
    const sealed = chain.transaction(idIn(body));
    return sealed === null || sealed.blockNumber > limit ? {} : transactionJson(sealed, isVisible(body));
  },
  getchainparameters: () => ({
    chainParameter: [
      { key: 'getTransactionFee', value: Number(SUN_PER_BYTE) },
      { key: 'getEnergyFee', value: Number(SUN_PER_ENERGY) },
      { key: 'getCreateAccountFee' },
      { key: 'getMaxFeeLimit', value: Number(MAX_FEE_LIMIT_SUN) },
    ],
  }),
  getnodeinfo: (chain) => ({
    block: `Num:${chain.clock.head()},ID:${must(chain.block(chain.clock.head())).id}`,
    solidityBlock: `Num:${chain.solidified},ID:${must(chain.block(chain.solidified)).id}`,
  }),
};

const computeCalls: Readonly<Record<string, (chain: FacadeChain, body: Body) => Promise<Answer>>> = {
  getaccount: async (chain, body) => {
    const address = addressIn(body, 'address');
    if (!(await chain.evm.isAccount(evmAddressOf(address)))) return {};
    const balance = Number(await chain.evm.balanceOf(evmAddressOf(address)));
    return { address: shown(address, isVisible(body)), ...(balance > 0 && { balance }) };
  },
  getaccountresource: async (chain, body) =>
    (await chain.evm.isAccount(evmAddressOf(addressIn(body, 'address'))))
      ? { TotalNetLimit: 43_200_000_000, TotalEnergyLimit: 50_000_000_000 }
      : {},
  getcontract: async (chain, body) => {
    const address = addressIn(body, 'value');
    if (!(await chain.evm.hasCode(evmAddressOf(address)))) return {};
    const { abi } =
      address === chain.contracts.batchSender
        ? artefacts.contracts.SandboxBatchSender
        : artefacts.contracts.SandboxTrc20;
    return {
      contract_address: shown(address, isVisible(body)),
      abi: { entrys: abi.map((entry) => tronAbiEntry(entry)) },
    };
  },
  triggerconstantcontract: async (chain, body) => {
    const request = callRequest(body);
    if (chain.brokenOffCalls > 0) {
      chain.brokenOffCalls -= 1;
      return refused('OTHER_ERROR', OUT_OF_TIME);
    }
    if (!(await chain.evm.hasCode(request.to)))
      return refused('CONTRACT_VALIDATE_ERROR', 'Smart contract is not exist.');
    const failure = await failureOf(chain, request);
    const output = await chain.evm.outputOf(request);
    const transaction = { ret: [failure === null ? {} : { ret: 'FAILED' }], visible: isVisible(body) };
    return {
      result: { result: true, ...(failure === null ? {} : { message: hexText(failure) }) },
      energy_used: Number(await energyOf(chain, request)),
      constant_result: [output],
      transaction,
    };
  },
  estimateenergy: async (chain, body) => {
    const request = callRequest(body);
    const failure = await failureOf(chain, request);
    if (failure !== null) return refused('CONTRACT_EXE_ERROR', failure);
    return { result: { result: true }, energy_required: Number(await energyOf(chain, request)) };
  },
};

const writeCalls: Readonly<Record<string, (chain: FacadeChain, body: Body) => Promise<Answer>>> = {
  triggersmartcontract: async (chain, body) => {
    const transaction = unsigned(
      chain,
      body,
      triggerIn(body),
      BigInt(Number(body['fee_limit'] ?? DEFAULT_FEE_LIMIT_SUN)),
    );
    return { result: { result: true }, transaction };
  },
  createtransaction: async (chain, body) =>
    unsigned(
      chain,
      body,
      {
        type: 'TransferContract',
        owner: addressIn(body, 'owner_address'),
        to: addressIn(body, 'to_address'),
        amountSun: BigInt(numberIn(body, 'amount')),
      },
      0n,
    ),
  broadcasttransaction: async (chain, body) => {
    if (typeof body['raw_data'] !== 'object' || body['raw_data'] === null)
      throw new BadRequest('Cannot invoke "JSONObject.getJSONArray(String)"', 'class java.lang.NullPointerException');
    const rawHex = textIn(body, 'raw_data_hex').toLowerCase();
    const described = encodeRaw(rawFromJson(body['raw_data']));
    if (described !== rawHex)
      return {
        code: 'SIGERROR',
        txid: transactionId(described),
        message: hexText('Validate signature error: raw_data differs from the signed bytes'),
      };
    const signatures = Array.isArray(body['signature']) ? (body['signature'] as unknown[]).map(String) : [];
    const answer = await chain.broadcast(rawHex, signatures);
    return answer.code === 'SUCCESS'
      ? { result: true, txid: answer.txId }
      : { code: answer.code, txid: answer.txId, message: hexText(answer.message) };
  },
};

function findBlock(chain: FacadeChain, idOrNumber: string, limit: number): FacadeBlock | null {
  const number = /^\d{1,15}$/.test(idOrNumber)
    ? Number(idOrNumber)
    : /^[0-9a-f]{64}$/i.test(idOrNumber)
      ? Number.parseInt(idOrNumber.slice(0, 16), 16)
      : Number.NaN;
  const block = Number.isSafeInteger(number) && number <= limit ? chain.block(number) : null;
  return block !== null && idOrNumber.length === 64 && block.id !== idOrNumber.toLowerCase() ? null : block;
}

/** A transaction for the caller to sign, valid for a minute as java-tron builds it. */
function unsigned(
  chain: FacadeChain,
  body: Body,
  contract: TronContract,
  feeLimitSun: bigint,
): Record<string, unknown> {
  const head = must(chain.block(chain.clock.head()));
  const raw: RawTransaction = {
    refBlockBytes: head.id.slice(12, 16),
    refBlockHash: head.id.slice(16, 32),
    expirationMs: head.timeMs + LIFETIME_MS,
    timestampMs: Date.now(),
    feeLimitSun,
    note: '',
    contract,
  };
  const rawHex = encodeRaw(raw);
  return {
    visible: isVisible(body),
    txID: transactionId(rawHex),
    raw_data: rawToJson(raw, isVisible(body)),
    raw_data_hex: rawHex,
  };
}

function triggerIn(body: Body): Extract<TronContract, { type: 'TriggerSmartContract' }> {
  const contract = addressIn(body, 'contract_address');
  return {
    type: 'TriggerSmartContract',
    owner: addressIn(body, 'owner_address'),
    contract,
    callValueSun: BigInt(Number(body['call_value'] ?? 0)),
    data: calldataIn(body),
  };
}

/** Either `data`, or the selector's hash followed by the encoded parameters. */
function calldataIn(body: Body): string {
  if (typeof body['data'] === 'string' && body['data'] !== '') return body['data'];
  const parameter = body['parameter'] ?? '';
  return id(textIn(body, 'function_selector')).slice(2, 10) + stringIn(parameter);
}

interface CallRequest {
  readonly [name: string]: string;
  readonly to: string;
  readonly data: string;
}

function callRequest(body: Body): CallRequest {
  const call = triggerIn(body);
  return {
    from: evmAddressOf(call.owner),
    to: evmAddressOf(call.contract),
    data: `0x${call.data}`,
    value: quantity(call.callValueSun),
    gas: quantity(CALL_GAS),
  };
}

async function failureOf(chain: FacadeChain, request: CallRequest): Promise<string | null> {
  try {
    await chain.evm.rpc('eth_call', request, 'latest');
    return null;
  } catch {
    return 'REVERT opcode executed';
  }
}

async function energyOf(chain: FacadeChain, request: CallRequest): Promise<bigint> {
  const gas = BigInt(await chain.evm.rpc<string>('eth_estimateGas', request).catch(() => '0x0'));
  const intrinsic = intrinsicGas(request);
  return gas > intrinsic ? gas - intrinsic : 0n;
}
