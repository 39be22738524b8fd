import { html, type Html } from '../../../runtime/http/html.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import { amountOf, formatAmount } from '../../../domain/money/money.ts';
import { keepsFailing } from '../../../features/treasury/comparisons.ts';
import type { Action } from '../../access.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { inMode, otherMode } from '../../modes.ts';
import { code, facts, link, spelled, time, type Cell } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import type { Visit } from '../../visit.ts';
import { gapsOf, type ChainStatus, type Coverage } from './chains.ts';
import type { CanaryRun } from './canaries.ts';
import { failedDeliveries } from './deliveries.ts';
import { PAYS_NOTHING_OUT, paysOut } from '../pays-out.ts';
import { detailPart, serviceStatus } from './service.ts';
import { treasuryStatus, type Move } from './treasury.ts';
import type { Unmatched } from './unmatched.ts';
import { messageOf } from '../../../runtime/util/message-of.ts';
import { words, type Words } from '../../words.ts';

interface Matter {
  readonly what: Words;
  readonly isGrave: boolean;
  /** Null if it concerns the service itself, in either mode. */
  readonly mode: Mode | null;
  readonly facts: readonly (readonly [Words, Cell])[];
  readonly to: string;
  /** What opening that page takes: not everybody who sees what needs attention may do something about it. */
  readonly needs: Action;
  readonly act: Words;
  /** The section of the runbook. */
  readonly runbook: string;
}

/** A network that was last read longer ago needs attention. */
const LATE_SEC = 300;
const MAX_LISTED = 500;

/** What waits for a person: what, since when, how much, one action, and the document that says how. */
export function attentionRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    change: [],
    read: [
      {
        path: '/attention',
        action: 'attention.read',
        show: async (visit) => {
          const matters = (await Promise.all(LOOKS.map((look) => lookedAt(look, deps, visit)))).flat();
          const ofMode = matters.filter(({ mode }) => mode === null || mode === visit.mode);
          return {
            page: {
              title: words`Needs attention`,
              isLive: true,
              body: html`${ofMode.length === 0 ? ALL_WELL : ofMode.map((matter) => matterPart(visit, matter))}
              ${elsewhere(visit.mode, matters.length - ofMode.length)} ${!paysOut(deps) && PAYS_NOTHING_OUT}`,
            },
          };
        },
      },
    ],
  };
}

const ALL_WELL = html`<p class="notice">${words`Nothing needs attention.`}</p>`;

/** Says when something waits in the other mode. */
function elsewhere(mode: Mode, count: number): Html | null {
  if (count === 0) return null;
  const other = otherMode(mode);
  const view = link(inMode('/attention', other), words`view`);
  return html`<p>
    ${count === 1 ? words`One more item needs attention in ${spelled(other)} mode: ${view}.` : words`${count} more items need attention in ${spelled(other)} mode: ${view}.`}
  </p>`;
}

type Look = (deps: ConsoleDeps, visit: Visit) => Promise<Matter[]>;

/** A check that fails is itself an item: missing data must not look like good news. */
async function lookedAt(look: Look, deps: ConsoleDeps, visit: Visit): Promise<Matter[]> {
  try {
    return await look(deps, visit);
  } catch (error) {
    const why = messageOf(error);
    return [
      {
        ...{ what: words`A check failed`, isGrave: true, mode: null, facts: [[words`Why`, why]] },
        ...{ to: '/attention', needs: 'attention.read', act: words`Try again`, runbook: 'runbook.md' },
      },
    ];
  }
}

const treasuryMatters: Look = async (deps) => {
  if (!paysOut(deps)) return [];
  const { signers, treasuries, comparisons } = await treasuryStatus(deps);
  const stopped = signers
    .filter((signer) => signer.stopped)
    .map(({ mode }): Matter => ({
      ...{ what: words`The signer is stopped: nothing is paid out`, isGrave: true, mode, facts: [] },
      ...{ to: '/treasury', needs: 'treasury.read', act: words`Resume with two approvers`, runbook: 'treasury.md' },
    }));
  const limits = signers.flatMap(({ mode, limitsToApprove = [] }): Matter[] =>
    limitsToApprove.length === 0
      ? []
      : [
          {
            ...{ what: words`Wider limits wait for approval`, isGrave: false, mode },
            facts: [[words`Limits`, limitsToApprove.join('; ')]],
            ...{ to: '/treasury', needs: 'treasury.read', act: words`Read the terms`, runbook: 'treasury.md' },
          },
        ],
  );
  const halted = treasuries.flatMap(({ mode, network, alarm }): Matter[] =>
    typeof alarm !== 'string'
      ? []
      : [
          {
            ...{ what: words`Nothing is paid out on ${network}`, isGrave: true, mode, facts: [[words`Why`, alarm]] },
            ...{ to: '/treasury', needs: 'treasury.read', act: words`Open the treasury`, runbook: 'runbook.md' },
          },
        ],
  );
  const waiting = treasuries.flatMap(({ mode, network, waiting: all = [], alarm }): Matter[] => {
    if (all.length === 0 || typeof alarm === 'string') return [];
    const reasons = new Set(all.map(({ reason, detail }) => detail ?? reason ?? 'unknown'));
    return [
      {
        what: all.length === 1 ? words`A refund waits on ${network}` : words`${all.length} refunds wait on ${network}`,
        ...{ isGrave: false, mode, facts: [[words`Why`, [...reasons].join('; ')]] },
        ...{ to: '/treasury', needs: 'treasury.read', act: words`Open the treasury`, runbook: 'refunds.md' },
      },
    ];
  });
  const uncompared = comparisons.filter(keepsFailing).map(({ mode, network, failures, why }): Matter => ({
    what: words`The books cannot be compared with ${network}`,
    ...{ isGrave: true, mode },
    facts: [
      [words`Failures in a row`, String(failures)],
      [words`Why`, why ?? ''],
    ],
    ...{ to: '/treasury/balances', needs: 'treasury.read', act: words`Open the balances`, runbook: 'runbook.md' },
  }));
  return [...stopped, ...limits, ...halted, ...waiting, ...uncompared];
};

const moveMatters: Look = async (deps, visit) => {
  if (!paysOut(deps)) return [];
  const { moves } = await run<{ moves: Move[] }>(deps, 'treasury.moves');
  return moves
    .filter(({ status }) => status === 'waiting_for_approval')
    .map(({ kind, amount, coin, mode, requested_by: by, requested_at: sec }) => ({
      what: words`A ${kind} waits for approval`,
      ...{ isGrave: false, mode },
      facts: [
        [words`Amount`, `${amount} ${coin}`],
        [words`Since`, time(sec, visit)],
        [words`Proposed by`, by],
      ],
      ...{ to: '/treasury', needs: 'treasury.read', act: words`Read the terms`, runbook: 'treasury.md' },
    }));
};

const unmatchedMatters: Look = async (deps, visit) => {
  const act = visit.can('unmatched.decide') ? words`Attach or return them` : words`View them`;
  const of = async (mode: Mode): Promise<Matter[]> => {
    const { transfers } = await run<{ transfers: Unmatched[] }>(deps, 'inbox.list', { mode, limit: MAX_LISTED });
    if (transfers.length === 0) return [];
    const isCut = transfers.length === MAX_LISTED;
    const sums = sumsOf(transfers);
    return [
      {
        what:
          transfers.length === 1
            ? words`A transfer waits for a decision`
            : isCut
              ? words`${transfers.length} or more transfers wait for a decision`
              : words`${transfers.length} transfers wait for a decision`,
        ...{ isGrave: false, mode },
        facts: [
          [words`Amount`, isCut ? words`${sums} or more` : sums],
          [words`Since`, time(Math.min(...transfers.map(({ block_time: sec }) => sec)), visit)],
        ],
        ...{ to: '/unmatched', needs: 'unmatched.read', act, runbook: 'inbox.md' },
      },
    ];
  };
  return (await Promise.all([of('live'), of('test')])).flat();
};

/** The sum of each coin. */
export function sumsOf(transfers: readonly Pick<Unmatched, 'coin' | 'amount'>[]): string {
  const sums = new Map<string, bigint>();
  for (const { coin, amount } of transfers) sums.set(coin, (sums.get(coin) ?? 0n) + amountOf(amount));
  return [...sums].map(([coin, units]) => `${formatAmount(units)} ${coin}`).join(', ');
}

const chainMatters: Look = async (deps, visit) => {
  const chains = await run<ChainStatus[]>(deps, 'chain.status');
  return chains.flatMap(({ mode, network, read_to: readTo, failed_reads_in_a_row: failures }): Matter[] => {
    if (readTo !== null && visit.nowSec - readTo < LATE_SEC && failures < 3) return [];
    const isSilent = readTo !== null && failures === 0;
    return [
      {
        ...{
          what: isSilent ? words`${network} shows no new blocks` : words`${network} is not being read`,
          isGrave: true,
          mode,
        },
        facts: [
          [words`Read up to`, readTo === null ? words`nothing yet` : time(readTo, visit)],
          [words`Failed reads in a row`, String(failures)],
        ],
        ...{ to: '/chains', needs: 'chains.read', act: words`Open the chains`, runbook: 'runbook.md' },
      },
    ];
  });
};

const gapMatters: Look = async (deps, visit) => {
  const act = visit.can('chains.rescan') ? words`Read them again` : words`View them`;
  const all = await run<Coverage[]>(deps, 'chain.coverage');
  return all
    .filter(({ gaps }) => gaps.length > 0)
    .map((covered) => ({
      what: words`Blocks of ${covered.network} are not recorded as read`,
      ...{ isGrave: false, mode: covered.mode, facts: [[words`Blocks`, gapsOf(covered)]] },
      ...{ to: '/chains', needs: 'chains.read', act, runbook: 'runbook.md' },
    }));
};

const deliveryMatters: Look = async (deps, visit) => {
  const of = async (mode: Mode): Promise<Matter[]> => {
    const failed = await failedDeliveries(deps, mode);
    if (failed.length === 0) return [];
    const merchants = new Set(failed.map(({ merchant }) => merchant.name));
    return [
      {
        what: failed.length === 1 ? words`A webhook did not arrive` : words`${failed.length} webhooks did not arrive`,
        ...{ isGrave: false, mode },
        facts: [
          [words`Merchants`, [...merchants].join(', ')],
          [words`Since`, time(Math.min(...failed.map(({ createdSec }) => createdSec)), visit)],
        ],
        ...{ to: '/deliveries', needs: 'deliveries.read', act: words`Open the deliveries`, runbook: 'webhooks.md' },
      },
    ];
  };
  return (await Promise.all([of('live'), of('test')])).flat();
};

/** The newest finished payment of each network says how it is now; those before it, since when. */
const canaryMatters: Look = async (deps, visit) => {
  const finished = (await run<CanaryRun[]>(deps, 'canary.history')).filter(({ result }) => result !== 'under way');
  const places = Map.groupBy(finished, ({ mode, network }) => `${mode} ${network}`);
  return [...places.values()].flatMap((runs): Matter[] => {
    const recovered = runs.findIndex(({ result }) => result === 'payment and refund');
    const failed = (recovered === -1 ? runs : runs.slice(0, recovered)).filter(({ result }) => result === 'failed');
    const [newest, oldest] = [failed[0], failed.at(-1)];
    if (!newest || !oldest) return [];
    const { network, mode, failed_step: step, reason } = newest;
    return [
      {
        what: words`The canary payment on ${network} failed`,
        ...{ isGrave: true, mode },
        facts: [
          [words`Since`, time(oldest.started, visit)],
          [words`Failures in a row`, String(failed.length)],
          [words`Step`, step ?? 'unknown'],
          [words`Why`, reason ?? 'unknown'],
        ],
        ...{ to: '/canaries', needs: 'chains.read', act: words`Open the canary payments`, runbook: 'runbook.md' },
      },
    ];
  });
};

/** Chains and treasuries have entries of their own. */
const REPORTED_ELSEWHERE = /^(chain|treasury):/;

/** Before the name of a risk that ACCEPT_RISKS names. */
const RISK = 'accepted-risk:';

const serviceMatters: Look = async (deps) => {
  const { checks } = await serviceStatus(deps);
  return checks
    .filter(({ name, state }) => state !== 'ok' && !REPORTED_ELSEWHERE.test(name))
    .map(({ name, state, detail }) => {
      const risk = name.startsWith(RISK) ? name.slice(RISK.length) : null;
      return {
        what: risk === null ? words`A check of the service: ${spelled(state)}` : words`A risk that the settings take`,
        ...{ isGrave: state !== 'degraded', mode: null },
        facts: [
          risk === null ? [words`Check`, code(name)] : [words`Risk`, code(risk)],
          [words`Why`, detailPart(detail)],
        ],
        ...{ to: '/service', needs: 'service.read', act: words`Open the service` },
        runbook: risk === null ? 'runbook.md' : 'operations.md#floors-of-live-mode',
      };
    });
};

const LOOKS: readonly Look[] = [
  serviceMatters,
  treasuryMatters,
  moveMatters,
  unmatchedMatters,
  chainMatters,
  gapMatters,
  deliveryMatters,
  canaryMatters,
];

function matterPart(visit: Visit, { what, isGrave, mode, facts: known, to, needs, act, runbook }: Matter): Html {
  const action = visit.can(needs) ? link(mode === null ? to : inMode(to, mode), act) : words`An operator handles this`;
  return html`<section class="card ${isGrave ? 'bad' : 'warn'}">
    <h2>${what}</h2>
    ${known.length > 0 && facts(known)}
    <p>${action} · ${words`Guide: ${html`<code>docs/${runbook}</code>`}`}</p>
  </section>`;
}
