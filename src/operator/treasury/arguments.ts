import {
  type AdminArguments,
  type AdminCommands,
  optionalMode,
  optionalText,
  refused,
  requiredText,
} from '../server/commands.ts';
import { formatAmount, isCoin, parseAmount, toTokenUnits, type Coin } from '../../domain/money/money.ts';
import { isNetwork, tokenOf, type Network } from '../../domain/networks/networks.ts';
import type { ApprovalSigner } from '../../ports/signer/approvals.ts';
import type { Clock } from '../../ports/clock.ts';
import type { OutgoingSigner } from '../../ports/outgoing/signer.ts';
import type { Random } from '../../ports/random.ts';
import type { Senders } from '../../ports/chain/senders.ts';
import type { AddressIndex } from '../../features/addresses/address-index.ts';
import type { Merchants } from '../../features/merchants/merchants.ts';
import type { MoveExecutor } from '../../features/payouts/moves/records.ts';
import type { MerchantHandler } from '../../features/shared/handlers/merchant-handler.ts';
import type { SessionHandler } from '../../features/shared/handlers/session-handler.ts';
import type { Treasury } from '../../features/treasury/treasury.ts';

/* Shared by the treasury commands. */

export interface CommandParts {
  /** Throws `CommandRefused` where another process pays. */
  readonly treasury: () => Treasury;
  readonly payouts: { readonly signer: OutgoingSigner & ApprovalSigner };
  readonly core: {
    readonly merchantHandler: MerchantHandler;
    readonly merchants: Pick<Merchants, 'setSettlementAddress'>;
    readonly sessionHandler: SessionHandler;
    readonly senders: Senders;
    readonly addressIndexes: ReadonlyMap<string, AddressIndex>;
    /** Resolves once every address assigned before the call is in the indexes. */
    addressesComplete(): Promise<void>;
  };
  /** An operator's address in the form that chain and signer use; null for an address invalid on the network. */
  readonly givenAddress: (network: Network, text: string) => string | null;
  readonly clock: Clock;
  readonly random: Random;
  /** Approves and rejects refunds, whose ids these commands accept as well. */
  readonly ofRefunds: AdminCommands;
}

export function executorFor({ treasury }: CommandParts, args: AdminArguments): MoveExecutor {
  const network = networkOf(requiredText(args, 'network'));
  const mode = optionalMode(args);
  const executors = treasury().moves.executors.filter(
    ({ chain }) => chain.network === network && (mode === undefined || chain.mode === mode),
  );
  if (executors.length > 1) refused('mode is missing: the network is used in both test and live mode');
  return executors[0] ?? refused(`there is no treasury on ${network}`);
}

export function moneyOf({ chain }: MoveExecutor, args: AdminArguments): { coin: Coin; amount: string } {
  const coin = optionalCoin(args) ?? refused('coin is missing');
  const units =
    parseAmount(requiredText(args, 'amount')) ?? refused('amount must be a decimal amount above zero, such as 10.00');
  const token = tokenOf(chain.settings, coin) ?? refused(`${coin} is not used on ${chain.network}`);
  if (units <= 0n) refused('amount must be above zero');
  try {
    toTokenUnits(units, token.decimals);
  } catch {
    refused(`amount has more than the ${token.decimals} decimals of ${coin} on ${chain.network}`);
  }
  return { coin, amount: formatAmount(units) };
}

export const destinationOf = ({ givenAddress }: CommandParts, network: Network, args: AdminArguments): string =>
  givenAddress(network, requiredText(args, 'to')) ?? refused(`to is not an address on ${network}`);

export function optionalNetwork(args: AdminArguments): Network | undefined {
  const network = optionalText(args, 'network');
  return network === undefined ? undefined : networkOf(network);
}

export const networkOf = (text: string): Network =>
  isNetwork(text) ? text : refused('network must be ethereum, bsc, tron or solana');

export function optionalCoin(args: AdminArguments): Coin | undefined {
  const coin = optionalText(args, 'coin')?.toUpperCase();
  return coin === undefined || isCoin(coin) ? coin : refused('coin must be USDT or USDC');
}
