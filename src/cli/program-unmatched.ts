import type { Command } from 'commander';
import type { JsonValue } from '../ports/read-model.ts';
import { admin } from './admin-command.ts';
import type { CliHost } from './host.ts';
import { tableOf, textOf, type Cells } from './table.ts';

const DECISION = [
  ['--actor <name>', 'who decides it', true],
  ['--reason <text>', 'why; kept for ever, so no names of payers', true],
  ['--dry-run', 'only say what would be done'],
] as const;

/** `quittance inbox ...`. */
export function addInbox(program: Command, host: CliHost): void {
  const inbox = program.command('inbox').description('money at our addresses that pays no order (see docs/inbox.md)');
  admin(
    inbox,
    host,
    'list',
    'inbox.list',
    'what waits for a decision, oldest first; or what was decided',
    [
      ['--state <state>', 'unresolved (default) or resolved'],
      ['--mode <mode>', 'test or live'],
      ['--network <network>', 'only this one'],
      ['--coin <coin>', 'USDT or USDC'],
      ['--older-than <days>', 'only money that came so many days ago or before'],
      ['--limit <n>', 'at most this many (default 50)'],
      ['--cursor <cursor>', 'goes on after the page that named it'],
    ],
    { show: showInbox },
  );
  admin(
    inbox,
    host,
    'show <transfer>',
    'inbox.show',
    'one transfer, such as ethereum:0x...:7, and what was decided about it',
  );
  admin(inbox, host, 'attach <transfer>', 'inbox.attach', 'make it a payment of a session of the same merchant', [
    ['--session <session_id>', 'the session', true],
    ...DECISION,
  ]);
  admin(inbox, host, 'return <transfer>', 'inbox.return', 'pay it back to the address that paid', [
    ...DECISION,
    ['--acknowledge-sender', 'the payer can receive at the contract or exchange that it came from'],
  ]);
  admin(
    inbox,
    host,
    'undo <transfer>',
    'inbox.undo',
    'detach it, or cancel its return while nothing is signed',
    DECISION,
  );
  admin(
    inbox,
    host,
    'record',
    'inbox.record',
    'take up a transfer to the treasury, or to an address that no session has',
    [
      ['--network <network>', 'ethereum, bsc, tron or solana', true],
      ['--tx <hash>', 'its transaction', true],
      ['--log-index <n>', 'which transfer of it: see docs/inbox.md', true],
      ['--index <n>', 'place of the collection address in the wallet; not for the treasury'],
      ['--mode <mode>', 'test or live, where the network is used in both'],
      ...DECISION,
    ],
  );
  admin(
    inbox,
    host,
    'search',
    'inbox.search',
    'after a restore: money at addresses that the lost events had given out; ends with 1 when a chain could not be asked',
    [
      ['--record', 'take up what is final, so that it can be attached or returned'],
      ['--actor <name>', 'who records it'],
      ['--reason <text>', 'why; kept for ever'],
      [
        '--mode <mode>',
        'test or live; with --family, --from and --since where the ledger was not restored by "quittance restore"',
      ],
      ['--family <family>', 'evm, tron or solana'],
      ['--from <index>', 'the first place in the wallet to look at'],
      ['--to <index>', 'the last one (default: 10,000 more)'],
      ['--since <seconds>', 'Unix seconds: the end of what the ledger knows'],
    ],
    {
      isFault: (answer) =>
        (answer as { searched: { fault: string | null }[] }).searched.some(({ fault }) => fault !== null),
    },
  );
}

function showInbox(value: JsonValue): string {
  const { transfers, next_cursor: next } = value as Cells;
  const rows = (transfers as readonly Cells[]).map((row): Cells => {
    const decision = row.decision as Cells | null;
    return { ...row, by: decision?.actor ?? null, target: decision?.target ?? null };
  });
  const columns = ['id', 'state', 'kind', 'network', 'coin'].map((field) => ({ title: field, field }));
  const amounts = [
    { title: 'amount', field: 'amount', align: 'right' } as const,
    { title: 'days', field: 'age_days', align: 'right' } as const,
  ];
  const owner = [
    { title: 'order', field: 'order_id' },
    { title: 'decided by', field: 'by' },
    { title: 'target', field: 'target' },
  ];
  const table = tableOf([...columns, ...amounts, ...owner], rows);
  return next === null ? table : `${table}\n\nMore: --cursor ${textOf(next)}`;
}
