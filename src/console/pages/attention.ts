import { html, type Html } from '../../runtime/util/html.ts';
import { run, type ConsoleDeps } from '../deps.ts';
import { facts, link } from '../parts.ts';
import type { ConsoleRoutes } from '../server.ts';
import type { Visit } from '../visit.ts';
import type { ChainStatus } from './chains.ts';
import { failedDeliveries } from './failed-deliveries.ts';
import type { TreasuryStatus } from './treasury.ts';
import type { Unmatched } from './unmatched.ts';
import { messageOf } from '../../runtime/util/message-of.ts';

interface Matter {
  readonly what: string;
  readonly isGrave: boolean;
  readonly facts: readonly (readonly [string, string])[];
  readonly to: string;
  readonly act: string;
  /** Section of the runbook. */
  readonly runbook: string;
}

/** A network read so long ago is not seen by anybody. */
const LATE_SEC = 300;
const MAX_LISTED = 500;

/** What waits for a person: what, since when, how much, one thing to do, and where it is written how. */
export function attentionRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    change: [],
    read: [
      {
        path: '/attention',
        action: 'attention.read',
        show: async (visit) => {
          const looks = [treasuryMatters, moveMatters, unmatchedMatters, chainMatters, deliveryMatters].map((look) =>
            lookedAt(look, deps, visit),
          );
          const matters = (await Promise.all(looks)).flat();
          return {
            page: {
              title: 'Needs attention',
              isLive: true,
              body: matters.length === 0 ? ALL_WELL : html`${matters.map(matterPart)}`,
            },
          };
        },
      },
    ],
  };
}

const ALL_WELL = html`<p class="notice">Nothing waits for a person.</p>`;

type Look = (deps: ConsoleDeps, visit: Visit) => Promise<Matter[]>;

/** A look that fails is itself a matter: no news must not look like good news. */
async function lookedAt(look: Look, deps: ConsoleDeps, visit: Visit): Promise<Matter[]> {
  try {
    return await look(deps, visit);
  } catch (error) {
    const why = messageOf(error);
    return [
      {
        what: 'Something could not be looked at',
        isGrave: true,
        facts: [['Why', why]],
        to: '/',
        act: 'Look again',
        runbook: 'runbook.md',
      },
    ];
  }
}

const treasuryMatters: Look = async (deps) => {
  const { signers, treasuries } = await run<TreasuryStatus>(deps, 'treasury.status');
  const stopped = signers.flatMap(({ mode, stopped: is }): Matter[] =>
    is
      ? [
          {
            what: `The signer is stopped in ${mode} mode: nothing is paid out`,
            isGrave: true,
            facts: [],
            to: '/treasury',
            act: 'Two approvers let it go on',
            runbook: 'treasury.md',
          },
        ]
      : [],
  );
  const waiting = treasuries.flatMap(({ mode, network, waiting: all = [] }): Matter[] =>
    all.length === 0
      ? []
      : [
          {
            what: all.length === 1 ? `A refund waits on ${network}` : `${all.length} refunds wait on ${network}`,
            isGrave: false,
            facts: [
              ['Mode', mode],
              ['Why', [...new Set(all.map(({ reason, detail }) => detail ?? reason ?? 'unknown'))].join('; ')],
            ],
            ...{ to: '/treasury', act: 'Look at the treasury', runbook: 'refunds.md' },
          },
        ],
  );
  return [...stopped, ...waiting];
};

const moveMatters: Look = async (deps) => {
  const { moves } = await run<{
    moves: { status: string; kind: string; amount: string; coin: string; mode: string; requested_by: string }[];
  }>(deps, 'treasury.moves');
  return moves
    .filter(({ status }) => status === 'waiting_for_approval')
    .map(({ kind, amount, coin, mode, requested_by: by }) => ({
      what: `A ${kind} waits for approval`,
      isGrave: false,
      facts: [
        ['Amount', `${amount} ${coin}`],
        ['Mode', mode],
        ['Proposed by', by],
      ],
      ...{ to: '/treasury', act: 'Read the terms', runbook: 'treasury.md' },
    }));
};

const unmatchedMatters: Look = async (deps, { nowSec }) => {
  const { transfers } = await run<{ transfers: Unmatched[] }>(deps, 'inbox.list', { limit: MAX_LISTED });
  if (transfers.length === 0) return [];
  const oldest = Math.min(...transfers.map(({ block_time: sec }) => sec));
  const byCoin = new Map<string, number>();
  for (const { coin } of transfers) byCoin.set(coin, (byCoin.get(coin) ?? 0) + 1);
  return [
    {
      what:
        transfers.length === 1
          ? 'A transfer pays no order'
          : `${transfers.length}${transfers.length === MAX_LISTED ? ' or more' : ''} transfers pay no order`,
      isGrave: false,
      facts: [
        ['Oldest', `${Math.floor((nowSec - oldest) / 86_400)} days`],
        ['Coins', [...byCoin].map(([coin, count]) => `${count} in ${coin}`).join(', ')],
      ],
      ...{ to: '/unmatched', act: 'Attach or return them', runbook: 'inbox.md' },
    },
  ];
};

const chainMatters: Look = async (deps, { nowSec }) => {
  const chains = await run<ChainStatus[]>(deps, 'chain.status');
  return chains.flatMap((chain): Matter[] => {
    const behindSec = chain.read_to === null ? null : nowSec - chain.read_to;
    if (behindSec !== null && behindSec < LATE_SEC && chain.failed_reads_in_a_row < 3) return [];
    return [
      {
        what: `${chain.network} is not read (${chain.mode})`,
        isGrave: true,
        facts: [
          ['Read up to', behindSec === null ? 'nothing yet' : `${behindSec} s ago`],
          ['Failed reads in a row', String(chain.failed_reads_in_a_row)],
        ],
        ...{ to: '/chains', act: 'Look at the chains', runbook: 'runbook.md' },
      },
    ];
  });
};

const deliveryMatters: Look = async (deps) => {
  const failed = await failedDeliveries(deps);
  if (failed.length === 0) return [];
  const merchants = new Set(failed.map(({ merchant }) => merchant.name));
  return [
    {
      what: failed.length === 1 ? 'A webhook did not arrive' : `${failed.length} webhooks did not arrive`,
      isGrave: false,
      facts: [['Merchants', [...merchants].join(', ')]],
      ...{ to: '/deliveries', act: 'Look at the deliveries', runbook: 'webhooks.md' },
    },
  ];
};

function matterPart({ what, isGrave, facts: known, to, act, runbook }: Matter): Html {
  return html`<section class="card ${isGrave ? 'bad' : 'warn'}">
    <h2>${what}</h2>
    ${known.length > 0 && facts(known)}
    <p>${link(to, act)} · how: <code>docs/${runbook}</code></p>
  </section>`;
}
