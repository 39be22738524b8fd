import type { Drill } from './drill.ts';
import type { DrillWorld } from './drill-world.ts';
import { eventually, signedCall } from '../support/running-sandbox.ts';

/* What merchants, receivers and markets do to the service. */

const inEuro = (world: DrillWorld): Promise<unknown> => world.order('10.00', 'EUR').catch(() => undefined);
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

export const nobodyPays: Drill = {
  alerts: ['NoPayments'],
  fault: 'orders arrive, but nobody pays',
  cause: async () => undefined,
  during: (world) => Promise.all([world.order(), pause(400)]),
  end: (world) => world.paidOrder('bsc'),
};

export const wrongSecret: Drill = {
  alerts: ['AuthenticationFailuresHigh'],
  fault: 'requests signed with a wrong secret',
  cause: async () => undefined,
  during: ({ node: { facts } }) => {
    const wrong = { ...facts.merchant, api_secret: 'wrong' };
    return Promise.all([1, 2, 3].map(() => signedCall(facts.base_url, wrong, 'GET', '/v1/merchant')));
  },
  end: async () => undefined,
};

export const wrongTokens: Drill = {
  alerts: ['OperatorTokensRefused'],
  fault: "requests to the operator's API with a wrong token",
  cause: async () => undefined,
  during: ({ adminUrl }) =>
    Promise.all(
      [1, 2, 3].map(() => fetch(`${adminUrl}/admin/inbox`, { headers: { authorization: 'Bearer qop_wrong' } })),
    ),
  end: async () => undefined,
};

let strayOf: string | null = null;
/** Part of an order's amount, which is then cancelled. */
export const strayWaits: Drill = {
  alerts: ['StrayTransfersWaiting'],
  fault: 'a part payment of a cancelled order is left in the inbox; afterwards it is attached to another order',
  cause: async (world) => {
    const session = await world.order();
    strayOf = session.id;
    const option = session.options.find(({ network, coin }) => network === 'bsc' && coin === 'USDT')!;
    await world.bsc.node.send('USDT', 'transfer', [option.address, 5_000_000n]);
    const isFinal = async () =>
      (await world.call('GET', `/api/v1/checkout/sessions/${session.id}`)).json.received === '5.00';
    await eventually('the part payment', isFinal, 60_000);
    await world.call('POST', `/api/v1/checkout/sessions/${session.id}/cancel`);
  },
  end: async (world) => {
    const { transfers } = (await world.admin('inbox.list', {})) as { transfers: { id: string; session_id: string }[] };
    const { id: transfer } = transfers.find(({ session_id: id }) => id === strayOf)!;
    const other = await world.order();
    await world.admin('inbox.attach', { transfer, session: other.id, actor: 'drill', reason: 'a drill' });
  },
};

export const marketsApart: Drill = {
  alerts: ['RateSpreadHigh'],
  fault: "one market's price is 3 % above the other's",
  cause: async (world) => world.quote(1.03),
  during: (world) => Promise.all([inEuro(world), pause(500)]),
  end: async (world) => world.quote(),
  after: (world) => Promise.all([inEuro(world), pause(500)]),
};

export const marketsGone: Drill = {
  alerts: ['RatesStale', 'RateProviderDown', 'HttpErrorsHigh', 'HttpErrorBudgetBurning'],
  fault: 'every rate provider returns 503 while orders in euros arrive',
  cause: async ({ coinbase, kraken }) => {
    for (const feed of [coinbase, kraken]) feed.answer((_, response) => response.writeHead(503).end());
  },
  during: inEuro,
  end: async (world) => world.quote(),
  after: (world) => Promise.all([inEuro(world), pause(500)]),
};

export const dayUnknown: Drill = {
  alerts: ['BookRateMissing'],
  fault: 'an order is paid in a coin for which no source has a rate; afterwards one has',
  cause: async (world) => {
    const { options } = await world.order('5.00', 'USDC');
    const { address } = options.find(({ network, coin }) => network === 'ethereum' && coin === 'USDC')!;
    await world.ethereum.node.send('USDC', 'transfer', [address, 5_000_000n]);
  },
  end: async (world) => void (world.keptDays = [...world.keptDays, 'USDC']),
};

export const receiverRefuses: Drill = {
  alerts: ['WebhookDeliveriesGivenUp', 'WebhooksFailing'],
  fault: 'the receiver returns 400',
  cause: async (world) => void (world.mood = 400),
  during: (world) => world.cancelledOrder(),
  end: async (world) => void (world.mood = 200),
  after: (world) => Promise.all([world.cancelledOrder(), pause(500)]),
};

export const receiverHangs: Drill = {
  alerts: ['WebhookBacklog'],
  fault: 'the receiver accepts the request and never responds',
  cause: async (world) => {
    world.mood = 'hang';
    await world.cancelledOrder();
  },
  end: async (world) => void (world.mood = 200),
};

export const receiverGone: Drill = {
  alerts: ['WebhookEndpointsSuspended'],
  fault: 'the receiver returns 410 three times; afterwards the merchant sets its endpoint again',
  cause: async (world) => {
    world.mood = 410;
    for (let count = 0; count < 3; count += 1) await world.cancelledOrder();
  },
  end: async (world) => {
    world.mood = 200;
    await world.setWebhook();
  },
};

const HOURS_MS = 7_200_000;
export const clockWrong: Drill = {
  alerts: ['ClockInDoubt'],
  fault: "the clocks of both rate providers are two hours ahead of the node's",
  cause: async ({ coinbase, kraken }) => [coinbase, kraken].forEach((feed) => feed.setClock(HOURS_MS)),
  end: async ({ coinbase, kraken }) => [coinbase, kraken].forEach((feed) => feed.setClock(0)),
};
