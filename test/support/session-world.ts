import { nodeRandom } from '../../src/adapters/node/random.ts';
import type { MerchantPolicy } from '../../src/domain/events/merchant-events.ts';
import type { MerchantId, SessionId } from '../../src/domain/values/ids.ts';
import { sessionStream } from '../../src/domain/values/streams.ts';
import type { Coin } from '../../src/domain/money/money.ts';
import type { NetworkSettings } from '../../src/domain/networks/networks.ts';
import { toSec } from '../../src/ports/clock.ts';
import type { CreateSessionDeps } from '../../src/features/sessions/create.ts';
import { Idempotency } from '../../src/features/shared/idempotency.ts';
import type { Caller, CreateSessionInput } from '../../src/features/shared/merchant-api.ts';
import type { MerchantDomain } from '../../src/features/merchants/lookup.ts';
import { PersonalData } from '../../src/features/shared/personal-data.ts';
import { createSessionHandler, type SessionHandler } from '../../src/features/shared/handlers/session-handler.ts';
import { SessionIds } from '../../src/features/sessions/ids.ts';
import type { SessionCommand } from '../../state-machines/checkout-session/session.decider.ts';
import { DEFAULT_POLICY } from '../../state-machines/merchant/merchant.state.ts';
import { MemoryEventStore } from './memory-event-store.ts';
import { ManualClock } from './price-feed.ts';
import type { MadeSalt } from '../../src/ports/event-log/personal-keys.ts';
import { handlerDeps } from './handler-deps.ts';

export const caller = { merchantId: 'mer_shop', mode: 'test', requestId: 'req_1' } as Caller;
export const order: CreateSessionInput = {
  amount: '10.00',
  currency: 'USDT',
  orderId: 'order-1',
  description: 'Two mugs',
};
const ethereum: NetworkSettings = {
  network: 'ethereum',
  mode: 'test',
  chainId: '31337',
  tokens: [
    { coin: 'USDT', address: '0xdac17f958d2ee523a2206206994597c13d831ec7', decimals: 6 },
    { coin: 'USDC', address: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', decimals: 6 },
  ],
  simulated: false,
  mainNetwork: false,
  explorerTransactionUrl: null,
};

interface Change {
  /** Makes the key of a session's personal data. */
  readonly create?: () => Promise<MadeSalt | null>;
  /** Of every currency to every coin, or to one; null: there is none to be had. */
  readonly rate?: string | null | Readonly<Partial<Record<Coin, string>>>;
  readonly policy?: Partial<MerchantPolicy>;
}

/** One merchant with one network; `free` are the indexes of the addresses that wait to be given out. */
export function sessionWorld({
  create = async () => ({ salt: new Uint8Array(32) }),
  rate = null,
  policy = {},
}: Change = {}) {
  const store = new MemoryEventStore();
  const clock = new ManualClock();
  const domains: MerchantDomain[] = [];
  const free = [1, 2];
  const erased: string[] = [];
  const keys = {
    create,
    get: async () => new Uint8Array(32),
    erase: async (subject: string) => void erased.push(subject),
  };
  const deps: CreateSessionDeps = {
    sessions: createSessionHandler(handlerDeps(store, clock)),
    ids: new SessionIds([{ version: 1, bytes: new Uint8Array(32) }]),
    merchants: {
      settings: () => ({
        merchantId: 'mer_shop' as MerchantId,
        name: 'Shop',
        mode: 'test',
        policy: { ...DEFAULT_POLICY, ...policy },
        domains,
        logo: null,
      }),
    },
    rates: {
      lock: async (_currency, coin, nowMs) => {
        const found = typeof rate === 'string' ? rate : rate?.[coin];
        return found === undefined ? null : { rate: found, lockedAtSec: toSec(nowMs), rule: 'fixed', quotes: [] };
      },
      mayQuote: (currency) => currency !== 'XAU',
      valuation: () => null,
      close: async () => undefined,
    },
    addresses: {
      take: (_mode, family) => {
        const index = free.shift();
        return index === undefined
          ? null
          : { family, address: `0x${String(index).padStart(40, '0')}`, derivationIndex: index };
      },
      giveBack: (_mode, { derivationIndex }) => void free.push(derivationIndex),
    },
    personal: new PersonalData(keys, { seal: () => 'sealed', open: () => '{}' }),
    idempotency: new Idempotency({ store, clock, random: nodeRandom }),
    clock,
    isClockInDoubt: () => false,
    random: nodeRandom,
    networks: () => [ethereum],
    sessionTtlSec: 1800,
    conversionDecimals: 2,
    dustLimit: '0.01',
    toleranceBounds: { maxPercent: 5, max: '100' },
    finalityFloor: { ethereumConfirmations: 12, ethereumFinalizedFrom: '10000' },
  };
  return { deps, store, domains, free, erased };
}

/** Has a session take commands, each of which must be accepted. */
export const tellerOf =
  (sessions: Pick<SessionHandler, 'execute'>, sessionId: SessionId) =>
  async (command: SessionCommand): Promise<void> => {
    const context = { correlationId: 'test', actor: 'test', coCommits: [] };
    const result = await sessions.execute(sessionStream(sessionId), command, context);
    if (!result.ok) throw new Error(result.refusal.message);
  };
