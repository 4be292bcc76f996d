from pathlib import Path
import longhaul_studies as s
study=s.find("split-pep"); c=s.plan(study,"readings",Path("/tmp/runs/split")); c.open("check")
def key(run):
    p=run.parameters; r=c.readings[run.cell]
    if p["flows"]==5 and r: return 0
    if p["flows"]==500 and r and c.experiments[run.cell]=="ftp": return 1
    if p["flows"]==750: return {1500:2,1000:3,3000:4,600:5,300:6}[p["packets"]]
    return 9
want=[run for run in c.missing(["pareto","ftp"]) if run.parameters["mode"]=="none" and c.readings[run.cell] in ("","ns-2's order") and key(run)<7]
want.sort(key=key)
print(len(want),flush=True)
for i in range(0,len(want),9):
    c.run(want[i:i+9],jobs=3); print(i,flush=True)
