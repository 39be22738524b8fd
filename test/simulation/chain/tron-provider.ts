import { hexText } from '../../../src/sandbox/tron-facade/tron-codec.ts';
import { encodeRaw, rawFromJson, transactionId } from '../../../src/sandbox/tron-facade/tron-transaction.ts';
import { transferIn, type ChainView } from './block.ts';
import { SimulatedProvider } from './simulated-provider.ts';
import { accountOfHex, render, word, type JsonInfo, type TronBlock } from './tron-block.ts';
import { TronRefusal, type TronChain } from './tron-chain.ts';

type View = ChainView<TronBlock>;
type Body = Readonly<Record<string, unknown>>;

interface LogsAsked {
  readonly id: number;
  readonly params: readonly [
    {
      readonly fromBlock: string;
      readonly toBlock: string;
      readonly address: readonly string[];
      readonly topics: readonly string[];
    },
  ];
}

const TRANSFER = 'a9059cbb';
const MOST_BLOCKS_A_CALL = 100;
const OUT_OF_TIME =
  "class org.tron.core.vm.program.Program$OutOfTimeException : CPU timeout for 'PUSH2' operation executing";

/** Said with status 200. */
class ApiError extends Error {}

/** One server of java-tron's HTTP API in front of the chain: the calls that services make, with addresses in hex. */
export class TronProvider extends SimulatedProvider<TronChain> {
  protected readonly family = 'tron';

  protected override answer({ path, body }: { readonly path: string; readonly body: string }): object {
    const [, api, call] = path.split('/');
    const newest = this.view();
    const solid = { branch: newest.branch, height: this.chain.finalizedIn(newest) };
    try {
      const asked = JSON.parse(body) as Body;
      if (api === 'jsonrpc') return this.#logs(asked as unknown as LogsAsked, newest);
      if (api === 'wallet') return this.#ofBoth(call!, asked, newest) ?? this.#ofNewest(call!, asked, newest);
      const answer = api === 'walletsolidity' ? this.#ofBoth(call!, asked, solid) : null;
      if (answer === null) throw new ApiError(`no such call: ${path}`);
      return answer;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { Error: `class org.tron.core.exception : ${error.message}` };
    }
  }

  /** What both views of the chain answer; null for another call. */
  #ofBoth(call: string, body: Body, view: View): object | null {
    switch (call) {
      case 'getnowblock':
        return render(view.branch[view.height]!).whole;
      case 'getblock':
        return blockAt(view, body['id_or_num'] === undefined ? view.height : Number(body['id_or_num']))?.header ?? {};
      case 'getblockbynum':
        return blockAt(view, Number(body['num'] ?? 0))?.whole ?? {};
      case 'gettransactioninfobyid':
        return this.#in(view, body, ({ infos }, txHash) => infos.find(({ id }) => id === txHash));
      case 'gettransactionbyid':
        return this.#in(view, body, ({ transactions }, txHash) => transactions.find(({ txID }) => txID === txHash));
      case 'getaccount': {
        const account = accountIn(body, 'address');
        const balance = this.chain.valueAt(`native/${account}`, view);
        if (balance > 0n) return { address: body['address'], balance: Number(balance) };
        return this.#isContract(account) ? { address: body['address'], type: 'Contract' } : {};
      }
      default:
        return null;
    }
  }

  #ofNewest(call: string, body: Body, view: View): object {
    switch (call) {
      case 'gettransactioninfobyblocknum':
        return Number(body['num'] ?? 0) === 0 ? {} : this.#receipts(blockAt(view, Number(body['num']))?.infos ?? []);
      case 'getblockbylimitnext':
        if (Number(body['endNum']) - Number(body['startNum']) > MOST_BLOCKS_A_CALL) return {};
        return {
          block: view.branch
            .slice(Number(body['startNum']), Math.min(Number(body['endNum']), view.height + 1))
            .map((block) => render(block).whole),
        };
      case 'getcontract': {
        return this.#isContract(accountIn(body, 'value')) ? { contract_address: body['value'], abi: {} } : {};
      }
      case 'getchainparameters':
        return {
          chainParameter: [
            { key: 'getTransactionFee', value: 1000 },
            { key: 'getEnergyFee', value: Number(view.branch[view.height]!.price) },
          ],
        };
      case 'getaccountresource':
        return { TotalEnergyLimit: 180_000_000_000 };
      case 'triggerconstantcontract':
        return this.#constant(body, view);
      case 'broadcasttransaction':
        return this.#broadcast(body);
      default:
        throw new ApiError(`no such call: ${call}`);
    }
  }

  /** `eth_getLogs` of java-tron's JSON-RPC, which counts `logIndex` within the block. */
  #logs({ id, params: [{ fromBlock, toBlock, address, topics }] }: LogsAsked, view: View): object {
    const blocks = view.branch.slice(Number(fromBlock), Math.min(Number(toBlock), view.height) + 1);
    const result = blocks.flatMap((block) =>
      this.#receipts(render(block).infos)
        .flatMap(({ log = [] }) => log as readonly { address: string; topics: readonly string[]; data: string }[])
        .map((log, logIndex) => ({
          ...{ blockNumber: `0x${block.number.toString(16)}`, logIndex: `0x${logIndex.toString(16)}`, removed: false },
          ...{
            address: `0x${log.address.slice(-40)}`,
            data: `0x${log.data}`,
            topics: log.topics.map((one) => `0x${one}`),
          },
        })),
    );
    const isAsked = (log: (typeof result)[number]): boolean =>
      address.includes(log.address) && log.topics[0] === topics[0];
    return { jsonrpc: '2.0', id, result: result.filter(isAsked) };
  }

  #in<Found extends object>(
    view: View,
    body: Body,
    find: (block: ReturnType<typeof render>, txHash: string) => Found | undefined,
  ): Found | object {
    const txHash = String(body['value']).toLowerCase();
    const block = this.chain.blockOf(txHash, view);
    return (this.isNull() || !block ? undefined : find(render(block), txHash)) ?? {};
  }

  /** Those of a block, or none while an index is behind; one that omits leaves whole receipts out, or their logs. */
  #receipts(infos: readonly JsonInfo[]): readonly JsonInfo[] {
    if (this.isNull()) return [];
    if (this.faults.omits === 0) return infos;
    const isOmitted = (): boolean => this.prng.chance(this.faults.omits);
    return infos.filter(() => !isOmitted()).map(({ log, ...info }) => (log && !isOmitted() ? { ...info, log } : info));
  }

  #isContract(account: string): boolean {
    return this.chain.contracts.has(account) || this.chain.options.tokens.includes(account);
  }

  /** Contracts answer by the newest block. */
  #constant(body: Body, view: View): object {
    const [token, owner] = [accountIn(body, 'contract_address'), accountIn(body, 'owner_address')];
    if (!this.chain.options.tokens.includes(token))
      return refusedCall('CONTRACT_VALIDATE_ERROR', 'Smart contract is not exist.');
    // A busy node breaks off what it computes.
    if (this.faults.nulls > 0 && this.isNull()) return refusedCall('OTHER_ERROR', OUT_OF_TIME);
    const { parameter = '' } = body as { readonly parameter?: string };
    if (body['function_selector'] === 'transfer(address,uint256)') return this.#estimate(token, owner, parameter, view);
    const value = this.#valueOf(String(body['function_selector']), token, `0x${parameter.slice(24)}`, view);
    if (value === null)
      return { result: { result: true, message: hexText('REVERT opcode executed') }, constant_result: [''] };
    return { result: { result: true }, energy_used: 935, constant_result: [word(value)] };
  }

  /** Null for a function that the token does not have. */
  #valueOf(selector: string, token: string, account: string, view: View): bigint | null {
    const isTether = token === this.chain.options.tokens[0];
    const isFrozen = this.chain.frozen.has(account) ? 1n : 0n;
    switch (selector) {
      case 'decimals()':
        return 6n;
      case 'balanceOf(address)':
        return this.chain.valueAt(`${token}/${account}`, view);
      case 'paused()':
        return this.chain.isPaused ? 1n : 0n;
      case 'isBlackListed(address)':
        return isTether ? isFrozen : null;
      case 'isBlacklisted(address)':
        return isTether ? null : isFrozen;
      default:
        return null;
    }
  }

  #estimate(token: string, owner: string, parameter: string, view: View): object {
    const movement = transferIn(token, owner, TRANSFER + parameter);
    if (movement === null) throw new ApiError('parameter');
    const succeeds = this.chain.wouldSucceed(movement);
    return {
      result: { result: true, ...(!succeeds && { message: hexText('REVERT opcode executed') }) },
      energy_used: Number(this.chain.energyOf(movement, view)),
      constant_result: [succeeds ? word(0n) : ''],
    };
  }

  /** It goes by what `raw_data` says, as java-tron does, and knows the transaction by an id of its own. */
  #broadcast(body: Body): object {
    const rawHex = encodeRaw(rawFromJson(body['raw_data'] ?? {}));
    const txid = transactionId(rawHex);
    const lie = this.broadcastLie();
    try {
      if (lie !== 'hides') this.chain.submit(rawHex, body['signature'] as readonly string[]);
      return lie === 'denies'
        ? { code: 'SERVER_BUSY', txid, message: hexText('Server busy.') }
        : { result: true, txid };
    } catch (error) {
      if (!(error instanceof TronRefusal)) throw error;
      return { code: error.code, txid, message: hexText(error.message) };
    }
  }
}

const refusedCall = (code: string, message: string): object => ({ result: { code, message: hexText(message) } });

const blockAt = ({ branch, height }: View, number: number): ReturnType<typeof render> | null =>
  number <= height && branch[number] ? render(branch[number]) : null;

function accountIn(body: Body, name: string): string {
  const hex = String(body[name]).toLowerCase();
  if (!/^41[0-9a-f]{40}$/.test(hex)) throw new ApiError(`INVALID hex String, ${name}`);
  return accountOfHex(hex);
}
