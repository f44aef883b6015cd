//! Strategies for every type that crosses the wire, for the round-trip tests. Nothing but tests sees them.

use agentd_types::content::ResultPart;
use agentd_types::event::{AssistantMessage, Attachment, AttachmentKind, ToolProgress, UserKind, UserMessage};
use agentd_types::live::{BlockSoFar, ClientInfo, Delta, DeltaKind, MessageSoFar, RunningTool, Snapshot};
use agentd_types::outcome::{CostBasis, Denial, ModelShare, SubmissionResult, TerminalName};
use agentd_types::permission::{AllowScope, Decision, PermissionMode, PermissionRequest, PermissionResolved};
use agentd_types::question::{Answered, Asks, Choice, Question, Reply};
use agentd_types::queue::{Batching, CommandMode, OnAsk, Priority, QueueChange, QueuedCommand, RunOptions};
use agentd_types::session::{Limits, NotesMode, SessionInfo, SessionMeta, SessionState};
use agentd_types::system::{
    ApiRetry, Frame, Init, InterruptReason, LoopRecord, ModelFallback, Partial, PartialPiece, RecoveryOutcome, SessionChanges, System,
    ToolStarted,
};
use agentd_types::task::{Placement, Task, TaskChange, TaskEnd, TaskKind, TaskOutcome, TaskStart};
use agentd_types::{
    AbsPath, AgentId, Block, Body, CommandId, Event, Json, MessageId, Money, Origin, RequestId, Seq, SessionId, SubmissionId, TaskId,
    Timestamp, ToolUseId, Usage,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

macro_rules! id {
    ($name:ident, $ty:ident) => {
        fn $name() -> impl Strategy<Value = $ty> {
            any::<u128>().prop_map($ty::from_u128)
        }
    };
}
id!(session, SessionId);
id!(submission, SubmissionId);
id!(command, CommandId);
id!(request, RequestId);
id!(message, MessageId);
id!(agent, AgentId);
id!(task_id, TaskId);

fn text() -> impl Strategy<Value = String> {
    any::<String>()
}

fn call() -> impl Strategy<Value = ToolUseId> {
    text().prop_map(ToolUseId)
}

fn time() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(Timestamp)
}

fn money() -> impl Strategy<Value = Money> {
    any::<u64>().prop_map(Money)
}

fn path() -> impl Strategy<Value = AbsPath> {
    text().prop_map(|tail| AbsPath::new(format!("/{tail}")).unwrap())
}

/// Values whose bytes a parse and a print would change.
fn json() -> impl Strategy<Value = Json> {
    let fixed = select(vec!["{}", "null", "[1.0e5, 1.50 ]", r#"{"b":1,"a" : "\u00e9","b":2}"#, "123456789012345678901234567890"]);
    prop_oneof![fixed.prop_map(str::to_owned), text().prop_map(|text| serde_json::to_string(&text).unwrap())]
        .prop_map(|text| Json::parse(text).unwrap())
}

fn part() -> impl Strategy<Value = ResultPart> {
    prop_oneof![
        text().prop_map(|text| ResultPart::Text { text }),
        (text(), text()).prop_map(|(media_type, data)| ResultPart::Image { media_type, data }),
    ]
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        text().prop_map(|text| Block::Text { text }),
        (text(), text()).prop_map(|(thinking, signature)| Block::Thinking { thinking, signature }),
        text().prop_map(|data| Block::RedactedThinking { data }),
        (call(), text(), json()).prop_map(|(id, name, input)| Block::ToolUse { id, name, input }),
        (call(), vec(part(), 0..3), any::<bool>()).prop_map(|(tool_use_id, content, is_error)| Block::ToolResult {
            tool_use_id,
            content,
            is_error
        }),
        (text(), text()).prop_map(|(media_type, data)| Block::Image { media_type, data }),
        json().prop_map(|json| Block::Other { json }),
    ]
}

fn blocks() -> impl Strategy<Value = Vec<Block>> {
    vec(block(), 0..4)
}

fn origin() -> impl Strategy<Value = Origin> {
    prop_oneof![
        text().prop_map(|client| Origin::Person { client }),
        (text(), text()).prop_map(|(name, author)| Origin::Bridge { name, author }),
        text().prop_map(|id| Origin::Task { id }),
        text().prop_map(|event| Origin::Hook { event }),
        session().prop_map(|id| Origin::Session { id }),
    ]
}

fn usage() -> impl Strategy<Value = Usage> {
    any::<[u64; 5]>().prop_map(|[input, output, cache_read, cache_write_5m, cache_write_1h]| Usage {
        input,
        output,
        cache_read,
        cache_write_5m,
        cache_write_1h,
    })
}

fn mode() -> impl Strategy<Value = PermissionMode> {
    use PermissionMode as M;
    select(vec![M::Default, M::Plan, M::AutoEdit, M::FullAuto, M::BypassPermissions, M::DontAsk])
}

fn notes() -> impl Strategy<Value = NotesMode> {
    select(vec![NotesMode::Start, NotesMode::Record])
}

fn limits() -> impl Strategy<Value = Limits> {
    (any::<Option<u32>>(), of(money())).prop_map(|(max_turns, max_budget)| Limits { max_turns, max_budget })
}

pub(crate) fn meta() -> impl Strategy<Value = SessionMeta> {
    let first = (of(text()), path(), text(), mode(), limits(), notes());
    let second = (vec((text(), text()), 0..3), of(text()), vec(text(), 0..3), vec(text(), 0..3));
    (first, second).prop_map(|(first, second)| {
        let (name, cwd, model, permission_mode, limits, notes) = first;
        let (environment, append_system_prompt, allow, deny) = second;
        SessionMeta { name, cwd, model, permission_mode, limits, notes, environment, append_system_prompt, allow, deny }
    })
}

pub(crate) fn changes() -> impl Strategy<Value = SessionChanges> {
    (of(text()), of(text()), of(mode()), of(limits()), of(notes()))
        .prop_map(|(name, model, permission_mode, limits, notes)| SessionChanges { name, model, permission_mode, limits, notes })
}

pub(crate) fn info() -> impl Strategy<Value = SessionInfo> {
    use SessionState as S;
    let states = vec![S::Idle, S::Running, S::WaitingPermission, S::WaitingAnswer, S::Interrupted, S::Failed, S::Archived];
    let first = (session(), of(text()), select(states), path(), text(), mode());
    let second = (time(), time(), money(), any::<[u32; 3]>(), text(), any::<u64>());
    (first, second).prop_map(|(first, second)| {
        let (id, name, state, cwd, model, permission_mode) = first;
        let (created_at, updated_at, cost, [queued, tasks_running, permissions_open], last_text, last_seq) = second;
        SessionInfo {
            id,
            name,
            state,
            cwd,
            model,
            permission_mode,
            created_at,
            updated_at,
            cost,
            queued,
            tasks_running,
            permissions_open,
            last_text,
            last_seq: Seq(last_seq),
        }
    })
}

fn options() -> impl Strategy<Value = RunOptions> {
    (select(vec![OnAsk::Wait, OnAsk::Park, OnAsk::Deny]), any::<Option<u32>>(), of(money()), vec(text(), 0..3))
        .prop_map(|(on_ask, max_turns, max_budget, fallback_models)| RunOptions { on_ask, max_turns, max_budget, fallback_models })
}

fn priority() -> impl Strategy<Value = Priority> {
    select(vec![Priority::Now, Priority::Next, Priority::Later])
}

pub(crate) fn queued() -> impl Strategy<Value = QueuedCommand> {
    let modes = vec![CommandMode::Prompt, CommandMode::TaskNotification, CommandMode::Shell];
    let first = (command(), any::<u32>(), select(modes), priority(), blocks(), origin());
    let second = (of(agent()), of(text()), select(vec![Batching::Fold, Batching::Alone]), options(), time());
    (first, second).prop_map(|(first, second)| {
        let (id, version, mode, priority, content, origin) = first;
        let (agent, idempotency_key, batching, options, enqueued_at) = second;
        QueuedCommand { id, version, mode, priority, content, origin, agent, idempotency_key, batching, options, enqueued_at }
    })
}

fn queue_change() -> impl Strategy<Value = QueueChange> {
    prop_oneof![
        queued().prop_map(|command| QueueChange::Enqueued { command }),
        command().prop_map(|id| QueueChange::Delivered { id }),
        (command(), any::<u32>(), blocks()).prop_map(|(id, version, content)| QueueChange::Edited { id, version, content }),
        (command(), priority()).prop_map(|(id, priority)| QueueChange::Promoted { id, priority }),
        command().prop_map(|id| QueueChange::Returned { id }),
        command().prop_map(|id| QueueChange::Removed { id }),
        (command(), text()).prop_map(|(id, reason)| QueueChange::Refused { id, reason }),
    ]
}

pub(crate) fn permission_request() -> impl Strategy<Value = PermissionRequest> {
    (request(), of(agent()), call(), text(), json(), text(), vec(text(), 0..3), time()).prop_map(
        |(id, agent, tool_use, tool_name, input, reason, suggestions, asked_at)| PermissionRequest {
            id,
            agent,
            tool_use,
            tool_name,
            input,
            reason,
            suggestions,
            asked_at,
        },
    )
}

fn decision() -> impl Strategy<Value = Decision> {
    prop_oneof![
        (select(vec![AllowScope::Once, AllowScope::Session, AllowScope::Always]), of(json()))
            .prop_map(|(scope, updated_input)| Decision::Allow { scope, updated_input }),
        of(text()).prop_map(|message| Decision::Deny { message }),
        Just(Decision::Withdrawn),
    ]
}

pub(crate) fn permission_resolved() -> impl Strategy<Value = PermissionResolved> {
    (request(), call(), decision(), origin(), of(text())).prop_map(|(id, tool_use, decision, by, rule)| PermissionResolved {
        id,
        tool_use,
        decision,
        by,
        rule,
    })
}

pub(crate) fn question() -> impl Strategy<Value = Question> {
    let asks = prop_oneof![(call(), any::<u32>()).prop_map(|(tool_use, place)| Asks::Call { tool_use, place }), Just(Asks::Resume)];
    let choice = (text(), text()).prop_map(|(label, description)| Choice { label, description });
    (request(), of(agent()), asks, text(), text(), vec(choice, 0..4), any::<bool>(), time()).prop_map(
        |(id, agent, asks, header, question, options, multi_select, asked_at)| Question {
            id,
            agent,
            asks,
            header,
            question,
            options,
            multi_select,
            asked_at,
        },
    )
}

fn answered() -> impl Strategy<Value = Answered> {
    let reply = prop_oneof![vec(text(), 0..3).prop_map(|choices| Reply::Chosen { choices }), Just(Reply::Withdrawn)];
    (request(), reply, origin()).prop_map(|(id, reply, by)| Answered { id, reply, by })
}

fn task_start() -> impl Strategy<Value = TaskStart> {
    let kind = select(vec![TaskKind::Bash, TaskKind::Agent]);
    let placement = select(vec![Placement::Foreground, Placement::Background]);
    (task_id(), kind, text(), call(), of(agent()), of(agent()), placement, path()).prop_map(
        |(id, kind, description, tool_use, owner, agent, placement, output_file)| TaskStart {
            id,
            kind,
            description,
            tool_use,
            owner,
            agent,
            placement,
            output_file,
        },
    )
}

fn task_end() -> impl Strategy<Value = TaskEnd> {
    let outcome = select(vec![TaskOutcome::Completed, TaskOutcome::Failed, TaskOutcome::Killed, TaskOutcome::Lost]);
    (outcome, any::<Option<i32>>(), any::<Option<i32>>(), of(origin()), text(), usage(), any::<u64>().prop_map(Money))
        .prop_map(|(outcome, exit_code, signal, by, summary, usage, cost)| TaskEnd { outcome, exit_code, signal, by, summary, usage, cost })
}

fn task_change() -> impl Strategy<Value = TaskChange> {
    prop_oneof![
        task_start().prop_map(TaskChange::Started),
        task_id().prop_map(|id| TaskChange::Moved { id }),
        (task_id(), task_end()).prop_map(|(id, end)| TaskChange::Finished { id, end }),
    ]
}

pub(crate) fn task() -> impl Strategy<Value = Task> {
    (task_start(), time(), of((task_end(), time()))).prop_map(|(start, started_at, end)| Task { start, started_at, end })
}

fn system() -> impl Strategy<Value = System> {
    let reasons = vec![InterruptReason::UserCancel, InterruptReason::Interrupt, InterruptReason::Drain];
    let outcomes = vec![RecoveryOutcome::Continued, RecoveryOutcome::Dropped, RecoveryOutcome::Waiting];
    prop_oneof![
        (meta(), of(text())).prop_map(|(meta, idempotency_key)| System::Created { meta, idempotency_key }),
        changes().prop_map(|changes| System::SessionUpdated { changes }),
        (text(), vec(text(), 0..3), path(), mode(), text(), text()).prop_map(
            |(model, tools, cwd, permission_mode, api_key_source, version)| {
                System::Init(Init { model, tools, cwd, permission_mode, api_key_source, version })
            }
        ),
        (any::<u32>(), of(text()), json(), vec(denial(), 0..3))
            .prop_map(|(round, transition, state, denials)| System::LoopState(LoopRecord { round, transition, state, denials })),
        (message(), vec((any::<u32>(), text(), any::<bool>()), 0..3)).prop_map(|(message, pieces)| {
            let pieces = pieces.into_iter().map(|(block, text, complete)| PartialPiece { block, text, complete }).collect();
            System::Partial(Partial { message, pieces })
        }),
        (call(), text(), of(json()), of(origin())).prop_map(|(tool_use, name, effective_input, changed_by)| {
            System::ToolStarted(ToolStarted { tool_use, name, effective_input, changed_by })
        }),
        (any::<u32>(), any::<u32>(), any::<u64>(), any::<Option<u16>>(), text()).prop_map(
            |(attempt, max_retries, delay_ms, status, error)| {
                System::ApiRetry(ApiRetry { attempt, max_retries, delay_ms, status, error })
            }
        ),
        (text(), text(), text(), text()).prop_map(|(from, to, error, reason)| System::ModelFallback(ModelFallback {
            from,
            to,
            error,
            reason
        })),
        (text(), text()).prop_map(|(fixed, tail)| System::Frame(Frame { fixed, tail })),
        vec(call(), 0..3).prop_map(|open| System::Parked { open }),
        (select(reasons), of(origin())).prop_map(|(reason, by)| System::Interrupted { reason, by }),
        (submission(), select(outcomes)).prop_map(|(submission, outcome)| System::Recovered { submission, outcome }),
        text().prop_map(|reason| System::Failed { reason }),
        text().prop_map(|text| System::Notice { text }),
        Just(System::Deleted),
    ]
}

fn denial() -> impl Strategy<Value = Denial> {
    (text(), call(), json()).prop_map(|(tool_name, tool_use, input)| Denial { tool_name, tool_use, input })
}

fn result() -> impl Strategy<Value = SubmissionResult> {
    let bases = select(vec![CostBasis::Listed, CostBasis::Family, CostBasis::Unknown]);
    let share = (text(), usage(), money(), bases).prop_map(|(model, usage, cost, basis)| ModelShare { model, usage, cost, basis });
    let first = (submission(), select(TerminalName::ALL.to_vec()), text(), of(text()), any::<Option<u16>>(), text(), of(text()));
    let second = (any::<u32>(), any::<u64>(), any::<u64>(), usage(), money(), money());
    let third = (vec(share, 0..3), vec(denial(), 0..3), vec(command(), 0..3));
    (first, second, third).prop_map(|(first, second, third)| {
        let (submission, terminal, detail, error_kind, error_status, text, stop_reason) = first;
        let (num_turns, duration_ms, duration_api_ms, usage, cost, session_cost) = second;
        let (models, denials, answered) = third;
        SubmissionResult {
            submission,
            terminal,
            detail,
            error_kind,
            error_status,
            text,
            stop_reason,
            num_turns,
            duration_ms,
            duration_api_ms,
            usage,
            cost,
            session_cost,
            models,
            denials,
            answered,
        }
    })
}

fn user() -> impl Strategy<Value = UserMessage> {
    (message(), select(vec![UserKind::Prompt, UserKind::ToolResults, UserKind::Meta]), blocks(), vec(command(), 0..3))
        .prop_map(|(message, kind, content, commands)| UserMessage { message, kind, content, commands })
}

fn assistant() -> impl Strategy<Value = AssistantMessage> {
    (message(), text(), text(), blocks(), of(text()), usage()).prop_map(|(message, api_id, model, content, stop_reason, usage)| {
        AssistantMessage { message, api_id, model, content, stop_reason, usage }
    })
}

fn attachment() -> impl Strategy<Value = Attachment> {
    use AttachmentKind as K;
    (message(), select(vec![K::QueuedCommand, K::EditedTextFile, K::Reminder]), blocks(), of(command()))
        .prop_map(|(message, kind, content, command)| Attachment { message, kind, content, command })
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        user().prop_map(Body::User),
        assistant().prop_map(Body::Assistant),
        attachment().prop_map(Body::Attachment),
        system().prop_map(Body::System),
        (message(), text()).prop_map(|(message, reason)| Body::Tombstone { message, reason }),
        permission_request().prop_map(Body::PermissionRequest),
        permission_resolved().prop_map(Body::PermissionResolved),
        question().prop_map(Body::Question),
        answered().prop_map(Body::Answer),
        queue_change().prop_map(Body::Queue),
        task_change().prop_map(Body::Task),
        result().prop_map(Body::Result),
    ]
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    (session(), any::<u64>(), time(), of(submission()), of(agent()), of(call()), of(origin()), body()).prop_map(
        |(session, seq, time, submission, agent, parent_tool_use, origin, body)| Event {
            session,
            seq: Seq(seq),
            time,
            submission,
            agent,
            parent_tool_use,
            origin,
            body,
        },
    )
}

fn delta_kind() -> impl Strategy<Value = DeltaKind> {
    select(vec![DeltaKind::Text, DeltaKind::Thinking, DeltaKind::ToolInput])
}

pub(crate) fn delta() -> impl Strategy<Value = Delta> {
    (message(), any::<u32>(), any::<u64>(), delta_kind(), text()).prop_map(|(message, block, offset, kind, text)| Delta {
        message,
        block,
        offset,
        kind,
        text,
    })
}

pub(crate) fn progress() -> impl Strategy<Value = ToolProgress> {
    (call(), text()).prop_map(|(tool_use, text)| ToolProgress { tool_use, text })
}

pub(crate) fn snapshot() -> impl Strategy<Value = Snapshot> {
    let so_far = (any::<u32>(), delta_kind(), text()).prop_map(|(block, kind, text)| BlockSoFar { block, kind, text });
    let in_progress = (message(), vec(so_far, 0..3)).prop_map(|(message, blocks)| MessageSoFar { message, blocks });
    let tool = (call(), text(), time()).prop_map(|(tool_use, name, started_at)| RunningTool { tool_use, name, started_at });
    let client = (text(), any::<Option<u32>>(), time()).prop_map(|(name, pid, since)| ClientInfo { name, pid, since });
    let first = (any::<u64>(), info(), of(submission()), vec(permission_request(), 0..3), vec(question(), 0..3), vec(queued(), 0..3));
    (first, (vec(tool, 0..3), vec(task(), 0..3), vec(client, 0..3), of(in_progress))).prop_map(|(first, second)| {
        let (seq, info, submission, permissions, questions, queue) = first;
        let (running_tools, tasks, clients, in_progress) = second;
        Snapshot { seq: Seq(seq), info, submission, permissions, questions, queue, running_tools, tasks, clients, in_progress }
    })
}
