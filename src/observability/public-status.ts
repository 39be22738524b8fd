import { NETWORKS } from '../domain/networks/networks.ts';
import type { Status } from './service-status.ts';

/** Public information: words, and since when. No figures, no provider names, no version. */
export type PublicState = 'operational' | 'degraded' | 'down';

export interface PublicComponent {
  readonly id: string;
  readonly name: string;
  readonly state: PublicState;
  /** Unix seconds. */
  readonly since: number;
}

export interface PublicIncident {
  readonly id: string;
  readonly name: string;
  readonly state: PublicState;
  readonly from: number;
  /** Null while it lasts. */
  readonly to: number | null;
}

/** The one file that the public page reads. */
export interface PublicStatus {
  readonly format: 1;
  /** Unix seconds: a page that finds it outdated says so. */
  readonly generated: number;
  /** Seconds until the next update. */
  readonly interval: number;
  readonly state: PublicState;
  readonly components: readonly PublicComponent[];
  /** Newest first. */
  readonly incidents: readonly PublicIncident[];
}

const KEPT_SEC = 30 * 86_400;
const MAX_INCIDENTS = 200;
const REFUNDS_LATE_SEC = 3_600;
const WEBHOOKS_LATE_SEC = 300;
const NAMES = { ethereum: 'Ethereum', bsc: 'BNB Smart Chain', tron: 'TRON', solana: 'Solana' } as const;
const RANK: readonly PublicState[] = ['operational', 'degraded', 'down'];

/** The current status, given the previous one: times without an update count as no change. */
export function publicStatus(status: Status, before: PublicStatus | null, interval: number): PublicStatus {
  const nowSec = Math.floor(status.atMs / 1000);
  const components = statesOf(status).map(({ id, name, state }): PublicComponent => {
    const known = before?.components.find((component) => component.id === id);
    return { id, name, state, since: known?.state === state ? known.since : nowSec };
  });
  return {
    ...{ format: 1, generated: nowSec, interval },
    state: components.reduce<PublicState>(
      (worst, { state }) => (RANK.indexOf(state) > RANK.indexOf(worst) ? state : worst),
      'operational',
    ),
    components,
    incidents: incidentsOf(components, before?.incidents ?? [], nowSec),
  };
}

function statesOf(status: Status): Omit<PublicComponent, 'since'>[] {
  const { networks, facts, refunds, webhooks } = status;
  // Test networks are for testing: they are shown only where there are no others.
  const live = networks.filter(({ mode }) => mode === 'live');
  const shown = live.length > 0 ? live : networks;
  return [
    { id: 'payments', name: 'New payments', state: status.ready && !status.readOnly ? 'operational' : 'down' },
    ...NETWORKS.flatMap((network) => {
      const line = shown.find((each) => each.network === network);
      if (!line) return [];
      const state = facts.find(({ name }) => name === `chain:${line.mode}:${network}`)?.state ?? 'ok';
      return [
        {
          id: network,
          name: `Payments on ${NAMES[network]}`,
          state: state === 'ok' ? 'operational' : state === 'down' ? 'down' : 'degraded',
        } as const,
      ];
    }),
    { id: 'refunds', name: 'Refunds', state: refunds.oldestAgeSec > REFUNDS_LATE_SEC ? 'degraded' : 'operational' },
    { id: 'webhooks', name: 'Webhooks', state: webhooks.oldestAgeSec > WEBHOOKS_LATE_SEC ? 'degraded' : 'operational' },
  ];
}

function incidentsOf(
  components: readonly PublicComponent[],
  before: readonly PublicIncident[],
  nowSec: number,
): PublicIncident[] {
  const going = components.filter(({ state }) => state !== 'operational');
  const ended = before.map((incident) =>
    incident.to === null && !going.some(({ id, state }) => id === incident.id && state === incident.state)
      ? { ...incident, to: nowSec }
      : incident,
  );
  const begun = going
    .filter(
      ({ id, state }) =>
        !ended.some((incident) => incident.id === id && incident.state === state && incident.to === null),
    )
    .map(({ id, name, state, since }): PublicIncident => ({ id, name, state, from: since, to: null }));
  return [...begun, ...ended].filter(({ to }) => to === null || to > nowSec - KEPT_SEC).slice(0, MAX_INCIDENTS);
}
