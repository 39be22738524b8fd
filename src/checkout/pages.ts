import { type Request, type Response } from 'express';
import { parseSessionId, type SessionId } from '../domain/values/ids.ts';
import { isCoin, type Coin } from '../domain/money/money.ts';
import {
  usualFinalityOf,
  type Network,
  type NetworkSettings,
  type UsualFinality,
} from '../domain/networks/networks.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import type { PayerTransactions } from '../ports/chain/payer-transactions.ts';
import { inCoin } from '../features/shared/coin-choice.ts';
import type { PayerApi } from '../features/shared/merchant-api.ts';
import type { SessionView } from '../features/shared/views.ts';
import type { Timeline } from '../features/sessions/timeline/types.ts';
import { sendCompressed } from './assets.ts';
import { deepLinks } from './deep-links.ts';
import { chooseLanguage, type Language } from './languages.ts';
import { type LinkPages } from './link.routes.ts';
import { pageHeaders } from './page/headers.ts';
import { notFoundPage } from './page/page.ts';
import type { PageInput } from './page/input.ts';
import { pageStatus, type PageFacts } from './page/model.ts';
import { Speech } from './speech.ts';

export interface CheckoutDeps {
  readonly api: PayerApi;
  readonly log: { error(context: object, message: string): void };
  readonly clock: Clock;
  readonly publicUrl: string;
  readonly settingsOf: (session: SessionView, network: Network) => NetworkSettings | undefined;
  readonly chainsOf: (session: SessionView) => Pick<PageFacts, 'confirmationsOf' | 'outageSince'>;
  /** Hosts that the merchant registered: only their pages may frame the payment page. */
  readonly hostsOf: (session: SessionView) => readonly string[];
  /** Null where the session's mode has no Solana. */
  readonly payerTransactions: (session: SessionView) => PayerTransactions | null;
  /**
   * Proof that the payment is in the event log, for whoever has the session's id; null before a checkpoint covers it.
   */
  readonly proofOf: (session: SessionView) => Promise<object | null>;
  /** Observations and decisions, in order; null while the event log cannot be read. */
  readonly recordOf: (session: SessionView) => Promise<Timeline | null>;
  /** Pays a session from the test wallet; null outside the sandbox. */
  readonly sandboxPay: ((id: SessionId, network: Network, coin: Coin) => Promise<void>) | null;
  /** Payment links; null where there are none. */
  readonly links: LinkPages | null;
}

/** Shared by the routes. */
export interface Pages {
  readonly deps: CheckoutDeps;
  readonly headers: Readonly<Record<string, string>>;
  readonly version: string;
  readonly languageOf: (request: Request) => Language;
  readonly notFound: (request: Request, response: Response) => void;
  /** Finds the session of the path; sends the answer itself when there is none. */
  readonly found: Finder;
  readonly inputOf: (session: SessionView, request: Request) => PageInput;
}

export type Finder = (request: Request, response: Response) => Promise<SessionView | null>;

/** The coin that the payer has selected. */
export function coinOf({ query: { coin } }: Request): Coin | null {
  const name = typeof coin === 'string' ? coin.toUpperCase() : '';
  return isCoin(name) ? name : null;
}

export function createPages(deps: CheckoutDeps, version: string): Pages {
  const headers = pageHeaders({ forms: deps.sandboxPay !== null, frameAncestors: [] });
  const languageOf = (request: Request): Language =>
    chooseLanguage(request.query.lang, request.headers['accept-language']);
  const notFound = (request: Request, response: Response): void => {
    response.status(404).set(headers).type('html').vary('Accept-Language');
    sendCompressed(request, response, notFoundPage(new Speech(languageOf(request))));
  };
  const found: Finder = async (request, response) => {
    const id = parseSessionId(String(request.params.id));
    const session = id && (await deps.api.viewSession(id));
    if (!session) notFound(request, response);
    return session && inCoin(session, coinOf(request));
  };
  return {
    deps,
    headers,
    version,
    languageOf,
    notFound,
    found,
    inputOf: (session, request) =>
      pageInput(deps, session, { coin: coinOf(request), language: languageOf(request), version }),
  };
}

/** Choices in the page's URL, other than the session. */
interface Asked {
  readonly coin: Coin | null;
  readonly language: Language;
  readonly version: string;
}

export function pageInput(deps: CheckoutDeps, session: SessionView, { coin, language, version }: Asked): PageInput {
  const networks = session.paymentOptions.map(({ network }) => network);
  const settings = new Map(networks.map((network) => [network, deps.settingsOf(session, network)]));
  const nowMs = deps.clock.nowMs();
  const pageUrl = `${deps.publicUrl}/pay/${session.sessionId}${session.alternative ? `?coin=${session.dueCoin}` : ''}`;
  const finalityOf = (network: Network): UsualFinality => usualFinalityOf(network, settings.get(network));
  const newAttempt = session.supersededBy;
  const shop = deps.api.shopOf(session);
  return {
    session,
    coin,
    status: pageStatus(session, {
      ...deps.chainsOf(session),
      finalityOf,
      newAttempt,
      nowSec: toSec(nowMs),
    }),
    speech: new Speech(language),
    shop,
    finalityOf,
    newAttempt,
    linksOf: (option, amount) =>
      deepLinks(option, amount, { pageUrl, mainNetwork: settings.get(option.network)?.mainNetwork ?? false }),
    simulated: new Set(networks.filter((network) => settings.get(network)?.simulated)),
    sandbox: deps.sandboxPay !== null && session.mode === 'test',
    testMode: session.mode === 'test',
    nowMs,
    embeddedBy: null,
    asset: (name) => `/pay/assets/${name}?${version}`,
    explorerUrl: (network, txHash) => settings.get(network)?.explorerTransactionUrl?.replace('{hash}', txHash) ?? null,
  };
}
