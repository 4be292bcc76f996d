//! The page with real packets: who may open it, what it shows of a tunnel, and the bypass switched from it. Needs root and Linux; ignored
//! unless asked for.

use crate::bed::two::Two;
use crate::bed::{Bed, Daemon, PEP, SERVER, address, can_run, text, wait_for};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const JSON: &str = "Content-Type: application/json\r\n";

/// Where a page is, and its token.
struct Page<'a> {
    bed: &'a Bed,
    token: String,
}

impl Page<'_> {
    fn of<'a>(bed: &'a Bed, daemon: &Daemon) -> Page<'a> {
        let printed = daemon.command(&["page"]);
        let (address, token) = printed.trim().split_once("/#").unwrap();
        assert_eq!((address, token.len()), ("http://127.0.0.1:7716", 64));
        let page = Page { bed, token: token.to_string() };
        wait_for("the page is there", 10, || {
            page.bed.within("p", || TcpStream::connect(("127.0.0.1", 7716)).is_ok())
        });
        page
    }

    fn raw(&self, request: &str) -> (u16, String) {
        let mut stream = self.bed.within("p", || TcpStream::connect(("127.0.0.1", 7716)).unwrap());
        exchange(&mut stream, request)
    }

    fn get(&self, path: &str) -> Value {
        let key = &self.token;
        let (status, body) = self.raw(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:7716\r\nAuthorization: Bearer {key}\r\n\r\n"
        ));
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    fn bypass(&self, on: bool, fields: &str) -> (u16, String) {
        let (key, body) = (&self.token, format!("{{\"on\":{on}}}"));
        self.raw(&format!(
            "POST /api/bypass HTTP/1.1\r\nHost: 127.0.0.1:7716\r\nAuthorization: Bearer {key}\r\n{fields}Content-Length: {}\r\n\r\n\
             {body}",
            body.len()
        ))
    }
}

/// The finding about one thing.
fn named(looked: &Value, what: &str) -> Value {
    let all = looked["findings"].as_array().unwrap();
    all.iter().find(|one| one["what"] == what).cloned().unwrap_or_else(|| panic!("no {what} in {looked}"))
}

fn exchange(stream: &mut (impl Read + Write), request: &str) -> (u16, String) {
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_string())
}

#[test]
#[ignore = "real packets in network namespaces (root): make test-real"]
fn the_page_shows_a_tunnel_and_switches_bypass() {
    if !can_run() {
        return;
    }
    let two = Two::new();
    let hub = two.hub("");
    let config = two.terminal_config(&two.hub_key).replace("[intercept]", "[page]\n[intercept]");
    let terminal = two.bed.start("p", "terminal", &config);
    wait_for("the tunnel is up", 10, || terminal.status()["passing"] == false);
    let page = Page::of(&two.bed, &terminal);

    // Nobody but who has the token, and nothing by another name or from another page.
    assert_eq!(page.raw("GET / HTTP/1.1\r\nHost: 127.0.0.1:7716\r\n\r\n").0, 200);
    assert_eq!(page.raw("GET /api/now HTTP/1.1\r\nHost: 127.0.0.1:7716\r\n\r\n").0, 401);
    assert_eq!(page.raw("GET / HTTP/1.1\r\nHost: ship.example:7716\r\n\r\n").0, 421);
    assert_eq!(page.bypass(true, &format!("{JSON}Origin: http://ship.example\r\n")).0, 403);
    assert_eq!(page.bypass(true, "").0, 415);
    for host in ["c", "h"] {
        let refused = two
            .bed
            .within(host, || TcpStream::connect_timeout(&address("10.81.0.1", 7716), Duration::from_secs(2)));
        assert!(refused.is_err(), "{host} reaches it");
    }
    assert_eq!(terminal.status()["bypass"], false);

    wait_for("the round trip is known", 10, || page.get("/api/now")["link_rtt_ms"].as_f64().unwrap() > 0.0);

    // A download of 300 kB, which the page counts for the client.
    let listener = two.listener(SERVER);
    let mut client = two.connect(SERVER, 8000);
    client.write_all(b"please").unwrap();
    let (mut served, _) = listener.accept().unwrap();
    served.read_exact(&mut [0; 6]).unwrap();
    served.write_all(&[7; 300_000]).unwrap();
    drop(served);
    let mut all = vec![];
    client.read_to_end(&mut all).unwrap();
    drop(client);
    assert_eq!(all.len(), 300_000);
    wait_for("the page has it", 10, || {
        let now = page.get("/api/now?since=0");
        let host =
            now["hosts"].as_array().unwrap().iter().find(|host| host["address"] == "10.81.0.2").cloned();
        let counted = host.is_some_and(|host| host["down"] == 300_000 && host["ended"] == 1);
        counted && now["saved"]["transfers"] == 1 && now["volume"]["down"].as_u64().unwrap() > 300_000
    });
    let now = page.get("/api/now?since=0");
    let seconds = now["history"]["seconds"].as_array().unwrap();
    let down: f64 = seconds.iter().map(|row| row[1].as_f64().unwrap()).sum::<f64>() / 8.0;
    assert!((270_000.0..330_000.0).contains(&down), "{down} bytes in {seconds:?}");
    assert!(
        now["status"]["tunnel"]["peers"][0]["name"] == "hub" && now["outages"].as_array().unwrap().is_empty()
    );
    let last = seconds.last().unwrap()[0].as_u64().unwrap();
    let newer = page.get(&format!("/api/now?since={last}"));
    assert!(newer["history"]["seconds"].as_array().unwrap().len() < 5);

    // The machine is looked at by a process that may.
    let findings = page.get("/api/doctor");
    assert!(findings["at"].as_u64().unwrap() > 1_700_000_000, "{findings}");
    assert_eq!(named(&findings, "rules")["verdict"], "good", "{findings}");
    assert_eq!(named(&findings, "UDP to the hub")["verdict"], "good", "{findings}");
    assert_eq!(named(&findings, "daemon")["verdict"], "good", "{findings}");

    let (status, body) = page.bypass(true, JSON);
    assert_eq!((status, body.as_str()), (200, "{\"done\":\"new connections pass untouched\"}"));
    assert_eq!(terminal.status()["bypass"], true);
    assert_eq!(
        named(&page.get("/api/doctor"), "daemon")["text"],
        "new connections pass untouched: bypass is on",
        "findings from before the change are looked for again"
    );
    assert_eq!(terminal.command(&["bypass"]), "bypass is on: new connections pass untouched\n");
    let rules = text(&two.bed.at("p", "nft list table inet longhaul_pep").stdout);
    assert_eq!(page.bypass(false, JSON).0, 200);
    assert_eq!(terminal.status()["bypass"], false);
    assert_ne!(
        rules,
        text(&two.bed.at("p", "nft list table inet longhaul_pep").stdout),
        "the rules follow it"
    );

    // The hub's end is an outage with its reason.
    hub.stop();
    wait_for("an outage is shown", 20, || {
        let outages = page.get("/api/now?since=0")["outages"].clone();
        outages[0]["over"] == false && outages[0]["seconds"].as_f64().is_some_and(|seconds| seconds >= 1.0)
    });
    let now = page.get("/api/now?since=0");
    let reasons = now["status"]["reasons"].as_array().unwrap();
    assert!(!reasons.is_empty() && now["status"]["new_connections"] == "pass untouched", "{now}");
    // A daemon that was killed takes its page along.
    drop(terminal);
    wait_for("the page has gone", 10, || {
        two.bed.within("p", || TcpStream::connect(("127.0.0.1", 7716)).is_err())
    });
}

#[test]
#[ignore = "real packets in network namespaces (root): make test-real"]
fn the_page_at_a_socket_is_for_its_owner_alone() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let path = bed.folder.join("page.sock");
    let daemon = bed.daemon(&format!("[page]\nlisten = \"{}\"\n", path.display()));
    wait_for("the page is there", 10, || UnixStream::connect(&path).is_ok());
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let printed = daemon.command(&["page"]);
    let token = printed.trim().split_once("/#").unwrap().1;
    let mut stream = UnixStream::connect(&path).unwrap();
    let request =
        format!("GET /api/now HTTP/1.1\r\nHost: localhost:7716\r\nAuthorization: Bearer {token}\r\n\r\n");
    let (status, body) = exchange(&mut stream, &request);
    assert_eq!(status, 200, "{body}");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["status"]["mode"], "split");
    daemon.stop();
    wait_for("its socket has gone", 10, || !path.exists());
}

/// The set-up of a host, as an operator has it in a browser.
struct SetUp<'a> {
    bed: &'a Bed,
    host: &'static str,
    config: PathBuf,
    child: Child,
    token: String,
}

impl Drop for SetUp<'_> {
    fn drop(&mut self) {
        // What the set-up has started goes on after it.
        self.drain();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl SetUp<'_> {
    fn of<'a>(bed: &'a Bed, host: &'static str) -> SetUp<'a> {
        let folder = bed.folder.join(format!("of-{host}"));
        let config = folder.join("pep.toml");
        let mut child = Command::new("ip")
            .args(["netns", "exec", &bed.name(host), PEP, "setup", "--config"])
            .arg(&config)
            .arg("--control")
            .arg(folder.join("control.sock"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let token = line.trim().strip_prefix("open http://127.0.0.1:7717/#").unwrap().to_string();
        SetUp { bed, host, config, child, token }
    }

    fn drain(&self) {
        let _ = Command::new(PEP).arg("drain").arg("--config").arg(&self.config).output();
    }

    fn post(&self, step: &str, body: &Value) -> (u16, Value) {
        let (key, body) = (&self.token, body.to_string());
        let request = format!(
            "POST /api/setup/{step} HTTP/1.1\r\nHost: 127.0.0.1:7717\r\nAuthorization: Bearer {key}\r\n{JSON}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = self.bed.within(self.host, || TcpStream::connect(("127.0.0.1", 7717)).unwrap());
        let (status, body) = exchange(&mut stream, &request);
        (status, serde_json::from_str(&body).unwrap())
    }

    fn done(&self, step: &str, body: &Value) -> Value {
        let (status, value) = self.post(step, body);
        assert_eq!(status, 200, "{step}: {value}");
        value
    }
}

/// A server whose every answer has 100 kB.
fn serve_files(listener: TcpListener) {
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
            let _ = stream.write_all(&[b'x'; 100_000]);
        }
    });
}

#[test]
#[ignore = "real packets in network namespaces (root): make test-real"]
fn the_set_up_leads_from_nothing_to_an_accelerated_page() {
    if !can_run() {
        return;
    }
    let bed = Bed::with_hub();
    let (hub, terminal) = (SetUp::of(&bed, "h"), SetUp::of(&bed, "p"));
    let nothing = json!({});
    let found = terminal.done("found", &nothing);
    assert!(found["exists"] == false && found["key"].is_null(), "{found}");
    let names: Vec<&str> =
        found["interfaces"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"lan") && found["outward"] == "sat", "{found}");
    let [hub_key, terminal_key] = [&hub, &terminal].map(|one| one.done("key", &nothing)["key"].clone());
    assert_eq!(terminal.done("key", &nothing)["key"], terminal_key, "a key that is there stays");

    let of_hub = json!({ "mode": "hub", "terminal": "ship-1", "terminal_key": terminal_key, "down": "200 Mbit/s", "private": ["10.82.0.0/24"] });
    let of_terminal = json!({
        "mode": "terminal", "hub": "10.83.0.2:7714", "hub_key": hub_key, "interfaces": ["lan"], "socks": true,
        "down": "200 Mbit/s", "up": "100 Mbit/s"
    });
    assert_eq!(terminal.post("draft", &json!({ "mode": "terminal", "hub": "10.83.0.2" })).0, 422);
    assert!(!terminal.config.exists());
    let recipe = terminal.done("recipe", &json!({ "answers": of_terminal, "firewall": "ufw" }));
    assert!(recipe["recipe"].as_str().unwrap().contains("ufw reload"));
    let recipe = hub.done("recipe", &json!({ "answers": of_hub, "firewall": "ufw" }));
    assert!(recipe["recipe"].as_str().unwrap().contains("ufw allow 7714/udp"), "{recipe}");
    for (node, answers) in [(&hub, &of_hub), (&terminal, &of_terminal)] {
        node.done("write", &json!({ "answers": answers, "overwrite": false }));
        let (status, why) = node.post("write", &json!({ "answers": answers, "overwrite": false }));
        assert!(status == 422 && why["error"].as_str().unwrap().contains("exists"), "{why}");
        assert_eq!(node.done("start", &nothing)["done"], "the daemon runs");
        let log = node.config.with_file_name("longhaul-pep.log");
        assert_eq!(std::fs::metadata(log).unwrap().mode() & 0o777, 0o640, "it has clients' addresses");
        let found = node.done("found", &nothing);
        assert!(found["more"] == false && found["answers"]["mode"] == answers["mode"], "{found}");
    }
    let measured = terminal.done("bench", &nothing);
    assert!(measured["down"]["goodput_bps"].as_f64().unwrap() > 50e6, "{measured}");

    serve_files(bed.within("s", || TcpListener::bind(address(SERVER, 8000)).unwrap()));
    let tried = terminal.done("trial", &json!({ "url": format!("http://{SERVER}:8000/file") }));
    for way in ["with", "without"] {
        assert!(tried[way]["status"] == "HTTP/1.1 200 OK" && tried[way]["bytes"] == 100_043, "{tried}");
    }
    assert_eq!(terminal.post("trial", &json!({ "url": "file:///etc/passwd" })).0, 422);
    // A client's page.
    let mut client = bed
        .within("c", || TcpStream::connect_timeout(&address(SERVER, 8000), Duration::from_secs(10)).unwrap());
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut page = vec![];
    client.read_to_end(&mut page).unwrap();
    assert_eq!(page.len(), 100_043);
    let status = || {
        let printed =
            Command::new(PEP).args(["status", "--json", "--config"]).arg(&terminal.config).output().unwrap();
        serde_json::from_slice::<Value>(&printed.stdout).unwrap()
    };
    // The trial's, and the client's.
    assert_eq!(status()["accepted"], 2);
    // Without the hub the proxy connects directly, which is no trial.
    hub.drain();
    wait_for("the tunnel is down", 40, || status()["no_tunnel"] == true);
    let (code, why) = terminal.post("trial", &json!({ "url": format!("http://{SERVER}:8000/file") }));
    let why = why["error"].as_str().unwrap();
    assert!(code == 422 && why == "not through the tunnel: the tunnel is down", "{code} {why}");
}
