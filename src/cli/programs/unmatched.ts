import type { Command } from 'commander';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { admin } from '../admin-command.ts';
import type { CliHost } from '../host.ts';
import { cellsIn, rowsIn, tableOf, textOf, type Cells } from '../table.ts';

const DECISION = [
  ['--actor <name>', 'your name, for the record', true],
  ['--reason <text>', 'why; kept permanently, so name no payers', true],
  ['--dry-run', 'only show what would be done'],
] as const;

/** `quittance inbox ...`. */
export function addInbox(program: Command, host: CliHost): void {
  const inbox = program.command('inbox').description('money at our addresses that pays no order (see docs/inbox.md)');
  admin(
    inbox,
    host,
    'list',
    'inbox.list',
    'transfers waiting for a decision, oldest first, or decided ones',
    [
      ['--state <state>', 'unresolved (default) or resolved'],
      ['--mode <mode>', 'test or live'],
      ['--network <network>', 'only this one'],
      ['--coin <coin>', 'USDT or USDC'],
      ['--older-than <days>', 'only money at least this many days old'],
      ['--limit <n>', 'at most this many (default 50)'],
      ['--cursor <cursor>', 'next_cursor of the previous page'],
    ],
    { show: showInbox },
  );
  admin(inbox, host, 'show <transfer>', 'inbox.show', 'one transfer, such as ethereum:0x...:7, and its decisions');
  admin(inbox, host, 'attach <transfer>', 'inbox.attach', 'make it a payment of a session of the same merchant', [
    ['--session <session_id>', 'the session', true],
    ...DECISION,
  ]);
  admin(inbox, host, 'return <transfer>', 'inbox.return', 'return it to the address that paid', [
    ...DECISION,
    ['--acknowledge-sender', 'confirm that the payer can receive at the contract or exchange that sent it'],
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
    'record a transfer to the treasury, or to an address without a session',
    [
      ['--network <network>', 'ethereum, bsc, tron or solana', true],
      ['--tx <hash>', 'its transaction', true],
      ['--log-index <n>', 'index of the transfer: see docs/inbox.md', true],
      ['--index <n>', 'derivation index of the collection address; not for the treasury'],
      ['--mode <mode>', 'test or live, if the network is used in both'],
      ...DECISION,
    ],
  );
  addSearch(inbox, host);
}

function addSearch(inbox: Command, host: CliHost): void {
  admin(
    inbox,
    host,
    'search',
    'inbox.search',
    'after a restore: find money at addresses that lost events had assigned; exits with 1 if a chain could not be read',
    [
      ['--record', 'record final transfers, so that they can be attached or returned'],
      ['--actor <name>', 'your name, for the record'],
      ['--reason <text>', 'why; kept permanently'],
      [
        '--mode <mode>',
        'test or live; with --family, --from and --since if the event log was not restored by "quittance restore"',
      ],
      ['--family <family>', 'evm, tron or solana'],
      ['--from <index>', 'first derivation index to check'],
      ['--to <index>', 'last derivation index (default: 10,000 more)'],
      ['--since <seconds>', 'Unix seconds: time of the last event in the event log'],
    ],
    {
      isFault: (answer) => rowsIn(cellsIn(answer).searched).some(({ fault }) => fault !== null),
    },
  );
}

function showInbox(value: JsonValue): string {
  const { transfers, next_cursor: next } = cellsIn(value);
  const rows = rowsIn(transfers).map((row): Cells => {
    const { actor = null, target = null } = cellsIn(row.decision);
    return { ...row, by: actor, target };
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
