import { html, type Html } from '../../../runtime/http/html.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import { CANARY_STEPS } from '../../../domain/canary.ts';
import type { CanaryResult } from '../../../operator/chains/canary.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { badge, link, MODE_IN_FILES, table, timeColumn, type Column, spelled } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import type { Visit } from '../../visit.ts';
import { words } from '../../words.ts';

export interface CanaryRun {
  readonly started: number;
  readonly mode: Mode;
  readonly network: string;
  readonly amount: string | null;
  readonly coin: string | null;
  readonly session_id: string | null;
  readonly result: CanaryResult;
  readonly steps: readonly { readonly step: string; readonly seconds: number; readonly promise: number }[];
  readonly failed_step: string | null;
  readonly reason: string | null;
}

/** Canary payments, newest first: the time of each step beside its limit. */
export function canaryRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    change: [],
    read: [
      {
        path: '/canaries',
        action: 'chains.read',
        show: async (visit) => ({
          page: {
            title: words`Canary payments`,
            isLive: true,
            body: html`<p>
                ${words`The service pays itself on each network, from a wallet of its own, and gives the money back. A step that
                took longer than promised is marked.`}
                ${csvLink(visit)}
              </p>
              ${table(words`Canary payments`, columns(visit), await runsOf(deps, visit), words`No canary payments yet. CANARY_MERCHANT_FILE and CANARY_KEYSTORE turn them on.`)}`,
          },
        }),
      },
      csvRoute('/canaries', 'chains.read', async (visit) => ({
        columns: columns(visit),
        pages: [await runsOf(deps, visit)],
      })),
    ],
  };
}

const runsOf = async (deps: ConsoleDeps, { mode }: Visit): Promise<CanaryRun[]> =>
  (await run<CanaryRun[]>(deps, 'canary.history')).filter((one) => one.mode === mode);

const STATES: Readonly<Record<CanaryResult, string>> = {
  'payment and refund': 'done',
  'under way': 'pending',
  failed: 'failed',
  interrupted: 'interrupted',
};
const amountOf = ({ amount, coin }: CanaryRun): string | null => (amount === null ? null : `${amount} ${coin}`);

const paymentOf = (one: CanaryRun): Html | string | null =>
  one.session_id === null ? amountOf(one) : link(`/search?q=${one.session_id}`, amountOf(one) ?? 'payment');

const columns = (visit: Visit): Column<CanaryRun>[] => [
  timeColumn(words`Started`, ({ started }) => started, visit),
  {
    name: words`Network`,
    cell: (one) => html`${one.network}<small>${paymentOf(one)}</small>`,
    text: ({ network }) => network,
  },
  MODE_IN_FILES,
  { name: words`Amount`, cell: amountOf, onlyInFiles: true },
  {
    name: words`Result`,
    cell: ({ result, failed_step: step, reason }) =>
      html`${badge(STATES[result])}${step !== null && html`<small>${spelled(step)}: ${reason}</small>`}`,
  },
  ...CANARY_STEPS.map((step): Column<CanaryRun> => ({
    name: spelled(step),
    isNumber: true,
    cell: ({ steps }) => {
      const taken = steps.find((each) => each.step === step);
      if (!taken) return null;
      return taken.seconds > taken.promise
        ? html`<strong>${taken.seconds.toFixed(1)} s</strong><small>${words`promised: ${taken.promise} s`}</small>`
        : `${taken.seconds.toFixed(1)} s`;
    },
  })),
  { name: words`Payment`, cell: ({ session_id: id }) => id, onlyInFiles: true },
];
